//! Opening the device, and which one is chosen.

use microbatch_lab::protocol::{
    AdapterFacts, AdapterInfo, ChoiceReason, Chosen, Command, DeviceKind, Event, Fault, Found, VERSION,
};

use super::{
    RUN, faults,
    worker::{Trial, load},
};

#[test]
fn the_worker_says_ready_then_opens_and_checks() {
    let told = Trial::default().run([(0, Command::Open)]).events();
    assert_eq!(told[0], Event::Ready { version: VERSION });
    assert!(
        matches!(told[1..], [Event::Preparing(_), Event::Opened(_), Event::Checked(_)]),
        "{told:?}"
    );
}

#[test]
fn a_device_that_computes_wrongly_is_refused() {
    let told = Trial {
        check_error: 0.1,
        ..Trial::default()
    }
    .run([(0, Command::Open), (1, load(1))])
    .events();
    let faults = faults(&told);
    assert!(
        matches!(faults[0], (None, Fault::DeviceComputesWrongly { .. })),
        "{faults:?}"
    );
    assert!(
        matches!(faults[1], (Some(RUN), Fault::DeviceComputesWrongly { .. })),
        "{faults:?}"
    );
    assert!(!told.iter().any(|event| matches!(event, Event::Loaded { .. })));
}

#[test]
fn a_check_that_is_not_a_number_is_no_pass() {
    let told = Trial {
        check_error: f64::NAN,
        ..Trial::default()
    }
    .run([(0, Command::Open)])
    .events();
    assert_eq!(faults(&told).len(), 1);
}

#[test]
fn auto_takes_webgpu_only_on_hardware_and_says_why_not() {
    use DeviceKind::{Cpu, WebGpu};
    let adapter = |vendor: &str, architecture: &str, description: &str, fallback| {
        Found::Adapter(AdapterInfo {
            vendor: vendor.to_owned(),
            architecture: architecture.to_owned(),
            device: String::new(),
            description: description.to_owned(),
            fallback,
        })
    };
    let software = |name: &str| ChoiceReason::Software {
        adapter: name.to_owned(),
    };
    let hardware = |name: &str| ChoiceReason::Hardware {
        adapter: name.to_owned(),
    };
    let cases = [
        (Found::NoWebGpu, Cpu, ChoiceReason::NoWebGpu),
        (Found::NoAdapter, Cpu, ChoiceReason::NoAdapter),
        (
            adapter("google", "swiftshader", "", false),
            Cpu,
            software("google swiftshader"),
        ),
        (
            adapter("", "", "SwiftShader Device (Subzero)", false),
            Cpu,
            software("SwiftShader Device (Subzero)"),
        ),
        (
            adapter("mesa", "", "llvmpipe (LLVM 17)", false),
            Cpu,
            software("llvmpipe (LLVM 17)"),
        ),
        (adapter("microsoft", "warp", "", false), Cpu, software("microsoft warp")),
        (
            adapter("", "", "Microsoft Basic Render Driver", false),
            Cpu,
            software("Microsoft Basic Render Driver"),
        ),
        (adapter("intel", "gen-12lp", "", true), Cpu, software("intel gen-12lp")),
        (
            adapter("nvidia", "ampere", "", false),
            WebGpu,
            hardware("nvidia ampere"),
        ),
        (
            adapter("apple", "metal-3", "", false),
            WebGpu,
            hardware("apple metal-3"),
        ),
        // Browsers may tell nothing at all.
        (adapter("", "", "", false), WebGpu, hardware("")),
        (
            adapter("", "", "Warped Reality 9000", false),
            WebGpu,
            hardware("Warped Reality 9000"),
        ),
    ];
    for (found, device, reason) in cases {
        assert_eq!(Chosen::auto(&found), Chosen { device, reason }, "{found:?}");
    }
}

#[test]
fn a_browser_completes_what_a_device_does_not_say() {
    let told = AdapterInfo {
        vendor: "google".to_owned(),
        architecture: "swiftshader".to_owned(),
        ..AdapterInfo::default()
    };
    let mut facts = AdapterFacts {
        vendor: "0x1ae0".to_owned(),
        ..AdapterFacts::default()
    };
    facts.complete(&told);
    assert_eq!(
        (facts.name.as_str(), facts.vendor.as_str(), facts.architecture.as_str()),
        ("google swiftshader", "0x1ae0", "swiftshader")
    );
    assert!(facts.software);
}
