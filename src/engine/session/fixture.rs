//! A session of a run that is given.

use super::Session;
use crate::{
    batch::{Example, IGNORE_INDEX},
    engine::{Device, model::Network},
    protocol::{Fault, Fixture},
};

impl Session {
    /// The run of `fixture`. Nothing is computed yet.
    pub fn of_fixture(device: &Device, fixture: Fixture) -> Result<Self, Fault> {
        let refuse = |what: &str| Fault::Unreachable {
            message: format!("a fixture whose {what}"),
        };
        let vocabulary = usize::try_from(fixture.vocabulary).unwrap_or(usize::MAX);
        let network = Network::of(&fixture.setup, vocabulary);
        if fixture.start.len() != network.parameters() {
            return Err(refuse("parameters are not as many as its network has"));
        }
        let known = |(id, example): (u32, &Example)| {
            example.id.0 == id
                && example.tokens.len() == example.labels.len()
                && example.tokens.iter().all(|&token| token < fixture.vocabulary)
                && example.labels.iter().all(|&label| {
                    label == IGNORE_INDEX || u32::try_from(label).is_ok_and(|label| label < fixture.vocabulary)
                })
        };
        if !(0..).zip(&fixture.examples).all(known) {
            return Err(refuse("examples are out of order or out of its vocabulary"));
        }
        Self::with_network(device, &fixture.setup, fixture.examples, network, fixture.start)
    }
}
