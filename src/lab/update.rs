//! The one function that changes the page's state.

use super::{
    Lab,
    machine::Transport,
    msg::{Effect, Msg, OwnFile},
    run, tools, worker,
};
use crate::{
    data::{DataError, asks_for_a_file},
    protocol::Fault,
    setup::{Draft, Key, parse::parse},
};

/// Applies one message; returns what the outside has to do.
pub fn update(lab: &mut Lab, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Edit(key, text) => {
            let draft = lab.blueprint.draft.clone().with(key, text);
            replace(lab, draft)
        }
        Msg::Replace(draft) => replace(lab, draft),
        Msg::OwnFile(result) => own_file(lab, result),
        Msg::Go(go) => run::start(lab, go),
        Msg::Pause => run::pause(lab),
        Msg::Reset => run::load(lab, None),
        Msg::Pace(pause_ms) => run::set_pace(lab, pause_ms),
        Msg::Probe(full_batch) => tools::probe(lab, full_batch),
        Msg::Preflight => tools::preflight(lab),
        Msg::Fit(limit) => tools::fit(lab, limit),
        Msg::Stop => tools::stop(lab),
        Msg::Device(choice) => {
            lab.blueprint.device = choice;
            lab.machine.fault = None;
            lab.machine.deaths = 0;
            let mut effects = worker::respawn(lab, choice);
            if lab.machine.transport == Transport::Failed {
                // The person ended the run, no fault did.
                lab.machine.transport = Transport::Empty;
            }
            effects.push(Effect::Remember);
            effects
        }
        Msg::Chosen(chosen) => {
            worker::choose(lab, chosen);
            Vec::new()
        }
        Msg::BadLink(error) => {
            lab.bad_link = Some(error);
            Vec::new()
        }
        Msg::DismissLink => {
            lab.bad_link = None;
            Vec::new()
        }
        Msg::Axis(unit) => {
            lab.blueprint.axis = unit;
            Vec::new()
        }
        Msg::ToggleLane(lane) => {
            toggle(&mut lab.blueprint.hidden_lanes, lane);
            Vec::new()
        }
        Msg::Language(language) => {
            lab.blueprint.language = language;
            vec![Effect::Remember]
        }
        Msg::Theme(theme) => {
            lab.blueprint.theme = theme;
            vec![Effect::Remember]
        }
        Msg::Worker(event) => worker::heard(lab, event),
        Msg::WorkerDied(fault) => worker::died(lab, fault),
        Msg::DismissFault => {
            lab.machine.fault = None;
            Vec::new()
        }
    }
}

fn toggle(hidden: &mut Vec<usize>, lane: usize) {
    match hidden.iter().position(|&other| other == lane) {
        Some(at) => drop(hidden.remove(at)),
        None => hidden.push(lane),
    }
}

fn replace(lab: &mut Lab, draft: Draft) -> Vec<Effect> {
    lab.errors = parse(&draft).err().unwrap_or_default();
    // What was said about the data of another form no longer holds; a refused file stays refused until another is given.
    if let Some(Fault::Data(error)) = &lab.machine.fault
        && !(asks_for_a_file(&draft) && error.field(&draft) == Key::FileName)
    {
        lab.machine.fault = None;
    }
    lab.blueprint.draft = draft.clone();
    vec![Effect::WriteLink(draft)]
}

fn own_file(lab: &mut Lab, result: Result<OwnFile, DataError>) -> Vec<Effect> {
    match result {
        Ok(file) => {
            let draft = lab.blueprint.draft.clone().with(Key::FileName, file.name.clone());
            lab.blueprint.own = Some(file);
            // A complaint about the file before.
            lab.machine.fault = lab
                .machine
                .fault
                .take()
                .filter(|fault| !matches!(fault, Fault::Data(_)));
            replace(lab, draft)
        }
        Err(error) => {
            lab.machine.fault = Some(Fault::Data(error));
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_about_data_goes_with_the_form_it_was_said_of() {
        let mut lab = Lab::default();
        let groups = DataError::NoFullGroup {
            examples: 3,
            needed: 16,
        };
        lab.machine.fault = Some(Fault::Data(groups));
        update(&mut lab, Msg::Edit(Key::LastGroup, "process".to_owned()));
        assert_eq!(lab.machine.fault, None);

        update(&mut lab, Msg::Edit(Key::Data, "text".to_owned()));
        update(&mut lab, Msg::OwnFile(Err(DataError::Empty)));
        update(&mut lab, Msg::Edit(Key::Rate, "0.1".to_owned()));
        assert_eq!(
            lab.machine.fault,
            Some(Fault::Data(DataError::Empty)),
            "the file is still refused"
        );
        update(&mut lab, Msg::Edit(Key::Data, "copy".to_owned()));
        assert_eq!(lab.machine.fault, None, "no file is asked for any more");

        lab.machine.fault = Some(Fault::NoSuchRun);
        update(&mut lab, Msg::Edit(Key::Rate, "0.2".to_owned()));
        assert_eq!(lab.machine.fault, Some(Fault::NoSuchRun), "not about data");
    }
}
