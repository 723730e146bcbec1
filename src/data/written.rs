//! A sequence before it is tokens: characters, and where the supervised part begins.

use super::Vocabulary;
use crate::batch::{Example, ExampleId, IGNORE_INDEX};

/// The character after a completion: the model learns where an answer ends.
pub const END: char = '■';

/// Characters s. Its example has the tokens s without the last and the labels s without the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// s, at least one character.
    pub(super) characters: Vec<char>,
    /// Characters before this place are given, not predicted.
    pub(super) supervised_from: usize,
}

impl Written {
    /// Prompt, completion and the end marker; the prompt is given.
    pub(super) fn answer(prompt: &[char], completion: &[char]) -> Self {
        let mut characters = prompt.to_vec();
        characters.extend_from_slice(completion);
        characters.push(END);
        Self {
            characters,
            supervised_from: prompt.len(),
        }
    }

    /// All characters but the first are predicted.
    pub(super) fn running(characters: Vec<char>) -> Self {
        Self {
            characters,
            supervised_from: 0,
        }
    }

    /// Positions of its example.
    pub(super) fn length(&self) -> usize {
        self.characters.len().saturating_sub(1)
    }

    /// Keeps the first `length` positions; says how many were cut.
    pub(super) fn cut(&mut self, length: usize) -> usize {
        let cut = self.length().saturating_sub(length);
        self.characters.truncate(self.characters.len() - cut);
        cut
    }

    /// Its tokens and labels. Every character must be in `vocabulary`.
    pub(super) fn encode(&self, id: ExampleId, vocabulary: &Vocabulary) -> Example {
        let ids: Vec<u32> = self.characters.iter().filter_map(|&c| vocabulary.id(c)).collect();
        let length = self.length();
        let label = |(place, &id): (usize, &u32)| match i32::try_from(id) {
            Ok(label) if place >= self.supervised_from => label,
            _ => IGNORE_INDEX,
        };
        Example {
            id,
            tokens: ids.iter().take(length).copied().collect(),
            labels: ids.iter().enumerate().skip(1).map(label).collect(),
        }
    }
}
