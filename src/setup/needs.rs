//! What a form must set for a fault of a loop to be seen.

use super::{Draft, Key, kinds::LossScaleKind, named::Named as _};
use crate::batch::fault::Needs;

/// The fields that keep a fault from being seen as `draft` stands, each with a value under which it is. A field that cannot be read
/// is no such field: what is wrong with it is said there.
///
/// ```
/// use microbatch_lab::{batch::fault::Needs, setup::{Draft, Key, needs::lacking}};
/// assert_eq!(lacking(&Draft::default(), Needs::Clip), [(Key::ClipNorm, "1")]);
/// assert_eq!(lacking(&Draft::default().with(Key::ClipNorm, "0.5"), Needs::Clip), []);
/// ```
pub fn lacking(draft: &Draft, needs: Needs) -> Vec<(Key, &'static str)> {
    let clip = matches!(needs, Needs::Clip | Needs::ClipAndLossScale);
    let scale = matches!(needs, Needs::LossScale | Needs::ClipAndLossScale);
    let no_clip = matches!(draft.get(Key::ClipNorm).trim().parse(), Ok(0.0));
    let no_scale = draft.get(Key::LossScale).trim() == LossScaleKind::Off.name();
    let mut lacking = Vec::new();
    if clip && no_clip {
        lacking.push((Key::ClipNorm, "1"));
    }
    if scale && no_scale {
        lacking.push((Key::LossScale, LossScaleKind::Dynamic.name()));
    }
    lacking
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        batch::{ConventionId, Faults, LaneRule, fault::TABLE},
        setup::{lane_name, parse::parse},
    };

    #[test]
    fn what_is_lacking_is_what_parsing_refuses() {
        for row in TABLE {
            let lane = LaneRule {
                convention: ConventionId::MeanOfMeans,
                faults: Faults::NONE.and(row.id).unwrap(),
            };
            let draft = Draft::default().with(Key::Lanes, lane_name(lane));
            let lacking = lacking(&draft, row.needs);
            assert_eq!(lacking.is_empty(), parse(&draft).is_ok(), "{:?}", row.id);
            let set = lacking
                .into_iter()
                .fold(draft, |draft, (key, text)| draft.with(key, text));
            assert!(parse(&set).is_ok(), "{:?}", row.id);
        }
    }
}
