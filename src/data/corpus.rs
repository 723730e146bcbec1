//! Examples with the vocabulary they are written in.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{DataError, collect::Collected, file, jsonl, tasks, text, written::Written};
use crate::{
    batch::{Example, ExampleId, LastGroup, Pass, Split},
    setup::{Data, OwnFormat, Setup, Start, limits, parse::longest},
};

/// Characters by token ID; ID 0 is padding and has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vocabulary {
    /// `characters[i]` has token ID i + 1; sorted.
    pub characters: Vec<char>,
}

impl Vocabulary {
    /// Token IDs there are, padding included: the rows of the model's embedding.
    pub fn size(&self) -> usize {
        self.characters.len() + 1
    }

    /// The token ID of a character.
    pub fn id(&self, character: char) -> Option<u32> {
        let place = self.characters.binary_search(&character).ok()?;
        u32::try_from(place + 1).ok()
    }

    /// The character of a token ID; padding has none.
    pub fn character(&self, id: u32) -> Option<char> {
        self.characters.get(usize::try_from(id.checked_sub(1)?).ok()?).copied()
    }

    fn of(sequences: &[Written]) -> Result<Self, DataError> {
        let used: BTreeSet<char> = sequences.iter().flat_map(|s| s.characters.iter().copied()).collect();
        if used.len() > limits::MAX_VOCABULARY {
            let (distinct, max) = (used.len() as u64, limits::MAX_VOCABULARY as u64);
            return Err(DataError::VocabularyTooLarge { distinct, max });
        }
        Ok(Self {
            characters: used.into_iter().collect(),
        })
    }
}

/// All examples of one epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corpus {
    /// What tokens mean.
    pub vocabulary: Vocabulary,
    /// `examples[i]` has ID i.
    pub examples: Vec<Example>,
    /// How many examples have no supervised token.
    pub unsupervised: u32,
    /// Positions that a length rule cut off the end of the person's own examples.
    pub cut_positions: u64,
}

/// Makes the examples that `setup` asks for. `own_text` is the person's file, where it asks for one.
pub fn build(setup: &Setup, own_text: Option<&str>) -> Result<Corpus, DataError> {
    let longest = longest(&setup.model);
    let collected = match &setup.data {
        Data::Task { task, examples } => tasks::generate(setup, *task, *examples, longest)?,
        Data::Own { format, name } => {
            let own = own_text.ok_or_else(|| DataError::FileNeeded { name: name.clone() })?;
            file::check_size(own.len() as u64)?;
            let own = file::plain(own);
            match format {
                OwnFormat::Text => text::read(setup, &own, longest)?,
                OwnFormat::Jsonl => jsonl::read(setup, &own, longest)?,
            }
        }
    };
    check_positions(setup, &collected)?;
    corpus(setup, &collected)
}

fn corpus(setup: &Setup, collected: &Collected) -> Result<Corpus, DataError> {
    if collected.sequences.is_empty() {
        return Err(DataError::Empty);
    }
    check_full_group(setup, collected.sequences.len() as u64)?;
    let vocabulary = Vocabulary::of(&collected.sequences)?;
    let ids = (0u32..).map(ExampleId);
    let examples: Vec<Example> = ids
        .zip(&collected.sequences)
        .map(|(id, sequence)| sequence.encode(id, &vocabulary))
        .collect();
    let unsupervised = examples.iter().filter(|example| example.supervised() == 0).count();
    if unsupervised == examples.len() {
        return Err(DataError::NothingSupervised);
    }
    if let Start::KnownLosses(pairs) = &setup.start
        && let Some(&(letter, _)) = pairs.iter().find(|(letter, _)| vocabulary.id(*letter).is_none())
    {
        return Err(DataError::StartLetterUnknown { letter });
    }
    let unsupervised = u32::try_from(unsupervised).unwrap_or(u32::MAX);
    Ok(Corpus {
        vocabulary,
        examples,
        unsupervised,
        cut_positions: collected.cut_positions,
    })
}

/// Where partial groups are dropped, an epoch needs a full one: of the examples, and of those that the sampler repeats.
fn check_full_group(setup: &Setup, examples: u64) -> Result<(), DataError> {
    let Split {
        microbatch,
        accumulation,
        replicas,
    } = setup.split;
    let [m, a, d] = [microbatch, accumulation, replicas].map(|count| u64::from(count.get()));
    let needed = setup.sharding.group_size(m, a, d);
    let worked_on = if setup.sampler_padding {
        examples.next_multiple_of(d)
    } else {
        examples
    };
    if setup.last_group == LastGroup::Drop && worked_on < needed {
        return Err(DataError::NoFullGroup { examples, needed });
    }
    Ok(())
}

/// The largest batch that one forward pass could get: m of the longest examples, or all of a group's.
fn check_positions(setup: &Setup, collected: &Collected) -> Result<(), DataError> {
    let longest = collected.sequences.iter().map(Written::length).max().unwrap_or(0) as u64;
    let rows = if setup.lanes.iter().any(|lane| lane.convention().pass == Pass::Whole) {
        setup.split.effective_batch()
    } else {
        u64::from(setup.split.microbatch.get())
    };
    let (positions, max) = (rows * longest, limits::MAX_POSITIONS);
    if positions > max {
        Err(DataError::TooManyPositions { positions, max })
    } else {
        Ok(())
    }
}
