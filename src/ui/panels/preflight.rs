//! A check of a few updates before a campaign.

use leptos::prelude::*;

use super::{
    ask::{Ask, answer},
    fold::Fold,
};
use crate::{
    batch::LaneRule,
    lab::{Lab, Msg, ready},
    protocol::{CheckKind, PreflightCheck, PreflightReport},
    setup::parse::parse,
    ui::{
        format,
        later::{Part, coming::part},
        parts::lane_mark::LaneMark,
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        words::names,
    },
};

/// A report as text, since a number that is not one differs from itself.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    passed: bool,
    failed: usize,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq)]
struct Line {
    kind: CheckKind,
    lane: Option<(usize, Option<LaneRule>)>,
    measured: String,
    expected: String,
    tolerance: String,
    passed: bool,
}

impl Told {
    fn of(report: &PreflightReport, lanes: &[LaneRule]) -> Self {
        let line = |check: &PreflightCheck| Line {
            kind: check.kind,
            lane: check
                .lane
                .and_then(|lane| usize::try_from(lane).ok())
                .map(|lane| (lane, lanes.get(lane).copied())),
            measured: format::value(check.measured),
            expected: format::value(check.expected),
            tolerance: format::value(check.tolerance),
            passed: check.passed,
        };
        Self {
            passed: report.passed(),
            failed: report.checks.iter().filter(|check| !check.passed).count(),
            lines: report.checks.iter().map(line).collect(),
        }
    }
}

/// The panel.
#[component]
pub fn PreflightPanel() -> impl IntoView {
    let store = use_store();
    view! {
        <Fold id="preflight-title" title=Signal::derive(tr!(store, preflight.title))>
            {part(Part::Preflight)}
        </Fold>
    }
}

/// What it holds.
#[component]
pub fn Preflight() -> impl IntoView {
    let store = use_store();
    let told = store.memo(|lab| lab.tools.preflight.map(|report| Told::of(report, &checked_lanes(lab))));
    let stale = store.memo(|lab| {
        lab.tools
            .checked
            .as_ref()
            .is_some_and(|checked| *checked != lab.blueprint.draft)
    });
    view! {
        <p class="about">{tr!(store, preflight.about)}</p>
        <Ask
            label=Signal::derive(tr!(store, preflight.ask))
            ready=ready::preflight
            msg=Signal::derive_local(|| Some(Msg::Preflight))
            id="preflight-not-now"
            stops=true
        />
        <p class="about">{move || stale.get().then(|| td_string!(store.locale.get(), ready.changed))}</p>
        {answer(store, told, move |told| list(store, told))}
    }
}

/// The lanes of the draft that was checked, which the form may no longer have.
fn checked_lanes(lab: &Lab) -> Vec<LaneRule> {
    let setup = lab.tools.checked.as_ref().and_then(|draft| parse(draft).ok());
    setup.map(|setup| setup.lanes).unwrap_or_default()
}

fn list(store: Store, told: Told) -> impl IntoView {
    let (passed, failed, n) = (told.passed, told.failed, told.lines.len());
    let summary = move || {
        let locale = store.locale.get();
        match (n, passed) {
            (0, _) => td_string!(locale, preflight.nothing).to_owned(),
            (_, true) => td_string!(locale, preflight.all_passed, n).to_string(),
            (_, false) => td_string!(locale, preflight.some_failed, failed, n).to_string(),
        }
    };
    let head: [fn(Locale) -> &'static str; 6] = [
        |l| td_string!(l, preflight.result),
        |l| td_string!(l, preflight.check),
        |l| td_string!(l, preflight.lane),
        |l| td_string!(l, preflight.measured),
        |l| td_string!(l, preflight.expected),
        |l| td_string!(l, preflight.allowed),
    ];
    view! {
        <p class="summary" class:failed=!passed role="status">{summary}</p>
        <div class="table-scroll" tabindex="0" role="region" aria-labelledby="preflight-title">
            <table class="sums preflight">
                <thead>
                    <tr>{head.map(|words| view! { <th scope="col">{move || words(store.locale.get())}</th> }).collect_view()}</tr>
                </thead>
                <tbody>{told.lines.into_iter().map(|line| row(store, line)).collect_view()}</tbody>
            </table>
        </div>
    }
}

fn row(store: Store, line: Line) -> impl IntoView {
    let (kind, passed) = (line.kind, line.passed);
    let lane = match line.lane {
        None => view! { <span>{tr!(store, preflight.all_lanes)}</span> }.into_any(),
        Some((lane, rule)) => view! {
            <LaneMark lane=lane />
            " "
            <span>{move || rule.map(|rule| names::lane(store.locale.get(), rule))}</span>
        }
        .into_any(),
    };
    view! {
        <tr data-passed=if passed { "yes" } else { "no" }>
            <td class="verdict">
                {move || {
                    let locale = store.locale.get();
                    if passed { td_string!(locale, preflight.pass) } else { td_string!(locale, preflight.fail) }
                }}
            </td>
            <th scope="row">
                {move || name(store.locale.get(), kind)}
                {(!passed).then(|| view! { <p class="hint-cause">{move || hint(store.locale.get(), kind)}</p> })}
            </th>
            <td class="lane-name">{lane}</td>
            <td>{line.measured}</td>
            <td>{line.expected}</td>
            <td>{line.tolerance}</td>
        </tr>
    }
}

fn name(locale: Locale, kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::SameExamples => td_string!(locale, preflight.same_examples),
        CheckKind::Denominator => td_string!(locale, preflight.denominator),
        CheckKind::FiniteGradients => td_string!(locale, preflight.finite_gradients),
        CheckKind::GroupBoundary => td_string!(locale, preflight.group_boundary),
        CheckKind::ParametersStandStill => td_string!(locale, preflight.parameters_stand_still),
        CheckKind::AppliedUpdates => td_string!(locale, preflight.applied_updates),
        CheckKind::Examples => td_string!(locale, preflight.examples),
        CheckKind::SupervisedTokens => td_string!(locale, preflight.supervised_tokens),
        CheckKind::FullBatchAgreement => td_string!(locale, preflight.full_batch_agreement),
        CheckKind::OracleAgreement => td_string!(locale, preflight.oracle_agreement),
        CheckKind::ReplicasInStep => td_string!(locale, preflight.replicas_in_step),
        CheckKind::AllReduces => td_string!(locale, preflight.all_reduces),
        CheckKind::NextGroup => td_string!(locale, preflight.next_group),
        CheckKind::PartialGroup => td_string!(locale, preflight.partial_group),
        CheckKind::LearningRate => td_string!(locale, preflight.learning_rate),
        CheckKind::LoggedLoss => td_string!(locale, preflight.logged_loss),
    }
}

/// What is likely behind a failure.
fn hint(locale: Locale, kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::SameExamples => td_string!(locale, preflight.hint_same_examples),
        CheckKind::Denominator => td_string!(locale, preflight.hint_denominator),
        CheckKind::FiniteGradients => td_string!(locale, preflight.hint_finite_gradients),
        CheckKind::GroupBoundary => td_string!(locale, preflight.hint_group_boundary),
        CheckKind::ParametersStandStill => td_string!(locale, preflight.hint_parameters_stand_still),
        CheckKind::AppliedUpdates => td_string!(locale, preflight.hint_applied_updates),
        CheckKind::Examples => td_string!(locale, preflight.hint_examples),
        CheckKind::SupervisedTokens => td_string!(locale, preflight.hint_supervised_tokens),
        CheckKind::FullBatchAgreement => td_string!(locale, preflight.hint_full_batch_agreement),
        CheckKind::OracleAgreement => td_string!(locale, preflight.hint_oracle_agreement),
        CheckKind::ReplicasInStep => td_string!(locale, preflight.hint_replicas_in_step),
        CheckKind::AllReduces => td_string!(locale, preflight.hint_all_reduces),
        CheckKind::NextGroup => td_string!(locale, preflight.hint_next_group),
        CheckKind::PartialGroup => td_string!(locale, preflight.hint_partial_group),
        CheckKind::LearningRate => td_string!(locale, preflight.hint_learning_rate),
        CheckKind::LoggedLoss => td_string!(locale, preflight.hint_logged_loss),
    }
}
