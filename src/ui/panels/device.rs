//! The device: what it is, whether it computes rightly, and the switch.

use leptos::prelude::*;

use crate::{
    lab::{Msg, machine::DeviceState},
    protocol::{AdapterFacts, ChoiceReason, Chosen, DeviceChoice, DeviceReport, Preparation, SelfCheck},
    ui::{
        format,
        parts::field::Words,
        remember::device_name,
        store::{Store, use_store},
        text::{Locale, td_string, tr},
        words,
    },
};

/// One line in the head of the page: which device, and what it is busy with.
#[component]
pub fn DeviceBadge() -> impl IntoView {
    let store = use_store();
    let busy = busy(store);
    let kind = Memo::new(move |_| store.device.with(kind));
    let software = store.memo(|lab| {
        reported(&lab.machine.device).is_some_and(|report| report.adapter.as_ref().is_some_and(|a| a.software))
    });
    view! {
        <p class="device-badge" data-device=move || kind.get() role="status">
            <span class="device-dot" aria-hidden="true"></span>
            <span class="device-name">
                {move || {
                    let locale = store.locale.get();
                    match kind.get() {
                        "cpu" => td_string!(locale, device.cpu).to_owned(),
                        "webgpu" => {
                            let name = td_string!(locale, device.webgpu);
                            if software.get() { format!("{name} ({})", td_string!(locale, device.software_short)) } else { name.to_owned() }
                        }
                        "failed" => td_string!(locale, device.failed).to_owned(),
                        _ => td_string!(locale, device.starting).to_owned(),
                    }
                }}
            </span>
            <span class="device-busy">{move || busy.get()}</span>
        </p>
    }
}

/// What slow step is going on, if one.
fn busy(store: Store) -> Memo<Option<String>> {
    let preparing = store.memo(|lab| lab.machine.preparing.clone());
    Memo::new(move |_| {
        let locale = store.locale.get();
        preparing.with(|preparing| {
            Some(match preparing.as_ref()? {
                Preparation::OpeningDevice => td_string!(locale, device.opening).to_owned(),
                Preparation::CompilingKernels { done, total } => {
                    td_string!(locale, device.compiling, done = *done, total = *total).to_string()
                }
                Preparation::Building => td_string!(locale, device.building).to_owned(),
            })
        })
    })
}

fn kind(device: &DeviceState) -> &'static str {
    match device {
        DeviceState::Starting => "starting",
        DeviceState::Failed(_) => "failed",
        DeviceState::Opened(report) | DeviceState::Usable(report, _) => {
            if report.kind == "cpu" {
                "cpu"
            } else {
                "webgpu"
            }
        }
    }
}

fn reported(device: &DeviceState) -> Option<&DeviceReport> {
    match device {
        DeviceState::Opened(report) | DeviceState::Usable(report, _) => Some(report),
        DeviceState::Starting | DeviceState::Failed(_) => None,
    }
}

/// The whole story.
#[component]
pub fn DevicePanel() -> impl IntoView {
    let store = use_store();
    let report = store.memo(|lab| reported(&lab.machine.device).cloned());
    let check = store.memo(|lab| match &lab.machine.device {
        DeviceState::Usable(_, check) => Some(check.clone()),
        _ => None,
    });
    let chosen = store.memo(|lab| lab.machine.chosen.clone());
    let line = move || chosen.with(|chosen| chosen.as_ref().and_then(|chosen| why(store.locale.get(), chosen)));
    view! {
        <section class="panel device-panel" aria-labelledby="device-title">
            <header class="panel-head">
                <h2 id="device-title">{tr!(store, device.title)}</h2>
                <DevicePick />
            </header>
            <Compiling />
            <p class="device-why">{line}</p>
            <dl class="table-list">
                {move || {
                    let locale = store.locale.get();
                    report.with(|report| report.as_ref().map(|report| facts(locale, report)))
                }}
            </dl>
            <h3>{tr!(store, device.check)}</h3>
            {move || {
                let locale = store.locale.get();
                check.with(|check| match check {
                    Some(check) => view! { <dl class="table-list">{checked(locale, check)}</dl> }.into_any(),
                    None => view! { <p class="empty">{td_string!(locale, device.checking)}</p> }.into_any(),
                })
            }}
        </section>
    }
}

#[component]
fn DevicePick() -> impl IntoView {
    let store = use_store();
    let choice = store.memo(|lab| lab.blueprint.device);
    let pick = move |event| {
        let name = event_target_value(&event);
        let choice = [DeviceChoice::Cpu, DeviceChoice::WebGpu]
            .into_iter()
            .find(|&choice| device_name(choice) == name);
        store.dispatch(Msg::Device(choice.unwrap_or_default()));
    };
    let options: [(DeviceChoice, Words); 3] = [
        (DeviceChoice::Auto, |l| td_string!(l, device.auto)),
        (DeviceChoice::Cpu, |l| td_string!(l, device.choice_cpu)),
        (DeviceChoice::WebGpu, |l| td_string!(l, device.choice_webgpu)),
    ];
    view! {
        <label class="pick">
            <span>{tr!(store, device.choice)}</span>
            <select prop:value=move || device_name(choice.get()) on:change=pick>
                {options
                    .map(|(option, words)| {
                        view! {
                            <option value=device_name(option) selected=move || choice.get() == option>
                                {move || words(store.locale.get())}
                            </option>
                        }
                    })
                    .collect_view()}
            </select>
        </label>
    }
}

/// Kernels compile for many seconds on a software adapter: how far that is.
#[component]
fn Compiling() -> impl IntoView {
    let store = use_store();
    let busy = busy(store);
    let pieces = store.memo(|lab| match lab.machine.preparing {
        Some(Preparation::CompilingKernels { done, total }) => Some((done, total.max(1))),
        _ => None,
    });
    view! {
        <div class="compiling" hidden=move || pieces.get().is_none()>
            <label for="compiling">{move || busy.get()}</label>
            <progress
                id="compiling"
                max=move || pieces.get().map_or(1, |(_, total)| total).to_string()
                prop:value=move || f64::from(pieces.get().map_or(0, |(done, _)| done))
            ></progress>
        </div>
    }
}

/// Why this device, where the person did not choose it.
fn why(locale: Locale, chosen: &Chosen) -> Option<String> {
    let name = |adapter: &String| {
        if adapter.is_empty() {
            td_string!(locale, device.unknown).to_owned()
        } else {
            adapter.clone()
        }
    };
    match &chosen.reason {
        ChoiceReason::Asked => None,
        ChoiceReason::Hardware { adapter } => {
            Some(td_string!(locale, device.hardware, name = name(adapter)).to_string())
        }
        ChoiceReason::NoWebGpu => Some(td_string!(locale, device.missing).to_owned()),
        ChoiceReason::NoAdapter => Some(td_string!(locale, device.no_adapter).to_owned()),
        ChoiceReason::Software { adapter } => {
            Some(td_string!(locale, device.software, name = name(adapter)).to_string())
        }
        ChoiceReason::GpuFailed(fault) => {
            let reason = words::fault::fault(locale, fault);
            Some(td_string!(locale, device.gpu_failed, reason).to_string())
        }
    }
}

fn facts(locale: Locale, report: &DeviceReport) -> impl IntoView + use<> {
    let ms = |ms: f64| td_string!(locale, transport.milliseconds, ms = format::value(ms.round())).to_string();
    let kind = if report.kind == "cpu" {
        td_string!(locale, device.cpu)
    } else {
        td_string!(locale, device.webgpu)
    };
    let mut lines = vec![
        (td_string!(locale, device.title), kind.to_owned()),
        (td_string!(locale, device.opened_in), ms(report.open_ms)),
    ];
    if let Some(adapter) = &report.adapter {
        lines.extend(adapter_facts(locale, adapter));
    }
    lines
        .into_iter()
        .map(|(name, text)| view! { <dt>{name}</dt><dd>{text}</dd> })
        .collect_view()
}

fn adapter_facts(locale: Locale, adapter: &AdapterFacts) -> Vec<(&'static str, String)> {
    let told = |text: &String| {
        if text.is_empty() {
            td_string!(locale, device.unknown).to_owned()
        } else {
            text.clone()
        }
    };
    let yes_no = |yes: bool| {
        if yes {
            td_string!(locale, device.yes)
        } else {
            td_string!(locale, device.no)
        }
        .to_owned()
    };
    let subgroups = match adapter.subgroup {
        Some((min, max)) if min == max => min.to_string(),
        Some((min, max)) => td_string!(locale, device.subgroup_range, min, max).to_string(),
        None => td_string!(locale, device.unknown).to_owned(),
    };
    vec![
        (td_string!(locale, device.adapter), told(&adapter.name)),
        (td_string!(locale, device.vendor), told(&adapter.vendor)),
        (td_string!(locale, device.architecture), told(&adapter.architecture)),
        (td_string!(locale, device.driver), told(&adapter.driver)),
        (td_string!(locale, device.backend), told(&adapter.backend)),
        (td_string!(locale, device.software_adapter), yes_no(adapter.software)),
        (td_string!(locale, device.subgroups), subgroups),
        (
            td_string!(locale, device.buffer),
            format::bytes(locale, adapter.max_buffer_size),
        ),
        (
            td_string!(locale, device.binding),
            format::bytes(locale, adapter.max_storage_binding),
        ),
        (
            td_string!(locale, device.invocations),
            format::count(u64::from(adapter.max_workgroup_invocations)),
        ),
        (td_string!(locale, device.f16), yes_no(adapter.shader_f16)),
    ]
}

fn checked(locale: Locale, check: &SelfCheck) -> impl IntoView + use<> {
    let ms = td_string!(
        locale,
        transport.milliseconds,
        ms = format::value(check.took_ms.round())
    )
    .to_string();
    [
        (
            td_string!(locale, device.gradient_error),
            format::error(check.gradient_error),
        ),
        (td_string!(locale, device.loss_error), format::error(check.loss_error)),
        (td_string!(locale, device.tolerance), format::error(check.tolerance)),
        (td_string!(locale, device.took), ms),
    ]
    .map(|(name, text)| view! { <dt>{name}</dt><dd>{text}</dd> })
    .collect_view()
}
