//! Every shader is computed a second time, and both are compared.

use crate::source::File;

/// Shaders that no file of the kernels names.
pub(crate) fn without_twin(shaders: &[File], kernels: &[File]) -> Vec<String> {
    unnamed(
        shaders,
        kernels,
        "has no host code with a twin in src/engine/kernels or src/engine/program",
    )
}

/// Shaders that no test names.
pub(crate) fn without_test(shaders: &[File], tests: &[File]) -> Vec<String> {
    unnamed(shaders, tests, "is named by no test")
}

fn unnamed(shaders: &[File], among: &[File], what: &str) -> Vec<String> {
    let helpers = |f: &&File| !f.path.starts_with("shaders/shared/");
    // Whole names: `gelu` is not named by `gelu_backward`.
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = |f: &&File| {
        !among
            .iter()
            .any(|other| other.text.split(|c| !part(c)).any(|word| word == stem(f)))
    };
    shaders
        .iter()
        .filter(helpers)
        .filter(named)
        .map(|f| format!("{} {what}", f.path))
        .collect()
}

fn stem(file: &File) -> &str {
    file.path
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".wgsl")
}

#[test]
fn a_lonely_shader_is_seen() {
    let shaders = [
        File::sample("shaders/loss.wgsl", ""),
        File::sample("shaders/shared/reduce.wgsl", ""),
    ];
    let kernels = [File::sample(
        "src/engine/kernels/loss.rs",
        "kernel_source!(Loss, \"loss.wgsl\")",
    )];
    assert_eq!(without_twin(&shaders, &kernels), Vec::<String>::new());
    assert_eq!(without_twin(&shaders, &[]).len(), 1);
    for other in ["other", "loss_backward", "token_loss.wgsl"] {
        assert_eq!(
            without_test(&shaders, &[File::sample("tests/kernels.rs", other)]).len(),
            1,
            "{other}"
        );
    }
}
