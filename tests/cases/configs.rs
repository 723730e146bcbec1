//! The plans that configurations of other trainers must come to. Their texts are not read yet: the sizes below are what stands in
//! them, and a configuration that is missing here fails.

use microbatch_lab::batch::{Split, Topology};
use serde_json::Value;

use super::{count::topology, read};

/// Sizes that stand in a text: the topology where it names one, and m, A or a target batch.
struct Read {
    id: &'static str,
    topology: Option<Topology>,
}

fn all() -> Vec<Read> {
    let none = |id| Read { id, topology: None };
    let of = |id, world, tensor, pipeline, context| Read {
        id,
        topology: Some(topology(world, tensor, pipeline, context)),
    };
    vec![
        none("hf-basic"),
        of("hf-max-steps", 8, 1, 1, 1),
        of("ds-two-of-three", 2, 1, 1, 1),
        of("ds-mismatch", 1, 1, 1, 1),
        none("ds-auto"),
        of("megatron-3d", 64, 4, 2, 1),
        of("megatron-no-global", 8, 2, 1, 1),
        of("axolotl-batch", 4, 1, 1, 1),
        none("axolotl-both"),
        of("axolotl-cp", 2, 1, 1, 2),
        of("accelerate-yaml", 4, 1, 1, 1),
        of("lightning-call", 8, 1, 1, 1),
        of("titan-toml", 32, 4, 1, 1),
        of("nanogpt", 8, 1, 1, 1),
        of("torchrun-line", 16, 1, 1, 1),
    ]
}

fn whole(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|n| u32::try_from(n).ok())
}

#[test]
fn the_plans_multiply_and_their_replicas_follow_from_the_topology() {
    let file = read("configs.json");
    assert_eq!(file["format"], "configs-1");
    let configs = file["configs"].as_array().expect("configs");
    let ids: Vec<&str> = configs
        .iter()
        .map(|config| config["id"].as_str().expect("an ID"))
        .collect();
    let known: Vec<&str> = all().iter().map(|read| read.id).collect();
    assert_eq!(ids, known);
    let mut complete = 0;
    for (config, sizes) in configs.iter().zip(all()) {
        let plan = &config["plan"];
        if let (Some(topology), Some(d)) = (sizes.topology, whole(&plan["D"])) {
            assert_eq!(topology.replicas().map(u32::from), Ok(d), "{}", sizes.id);
            if let Some(world) = whole(&config["world"]) {
                assert_eq!(topology.world.get(), world, "{}", sizes.id);
            }
        }
        let Some(batch) = plan["effective_batch"].as_u64() else {
            continue;
        };
        let part = |key: &str| whole(&plan[key]).expect("a complete plan");
        let split = Split::new(part("m"), part("A"), part("D")).expect("no zero");
        assert_eq!(split.effective_batch(), batch, "{}", sizes.id);
        if let Some(tokens) = plan["tokens_per_update"].as_u64() {
            assert_eq!(split.effective_batch() * 1024, tokens, "{}: blocks of 1024", sizes.id);
        }
        complete += 1;
    }
    assert_eq!(complete, 9, "plans with m, A, D and their product");
}

/// What a message about the mismatch must name: the D with which 256 = 4 x 8 x D.
#[test]
fn a_target_that_does_not_multiply_has_one_d_that_does() {
    let product = |d| Split::new(4, 8, d).expect("no zero").effective_batch();
    assert_ne!(product(1), 256);
    assert_eq!((1..=256).find(|&d| product(d) == 256), Some(8));
}
