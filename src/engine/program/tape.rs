//! One forward on its way to its backward, and the working memory that a lane uses again and again.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Program, Style};
use crate::engine::model::Network;

/// The most shapes of which lists are kept: as many as the microbatches of a group are likely to have.
const MOST_PROGRAMS: usize = 64;

type Spare = Box<dyn std::any::Any + Send>;

/// The lists of a lane's microbatch shapes, and working memory in nobody's use. A clone is the same one.
#[derive(Clone, Default)]
pub struct Workspace(Arc<Mutex<Store>>);

#[derive(Default)]
struct Store {
    programs: HashMap<(usize, usize), Option<Arc<Program>>>,
    spare: Vec<Spare>,
}

impl Workspace {
    /// The list for a shape; `None` for a network without one. All of one workspace are of one network and one device.
    pub fn program(&self, network: &Network, rows: usize, columns: usize, style: Style) -> Option<Arc<Program>> {
        let mut store = locked(&self.0);
        if store.programs.len() >= MOST_PROGRAMS {
            store.programs.clear();
        }
        let made = store.programs.entry((rows, columns));
        made.or_insert_with(|| Program::new(network, rows, columns, style).map(Arc::new))
            .clone()
    }

    /// A tape for one forward and one backward of `program`.
    pub fn tape(&self, program: Arc<Program>) -> Tape {
        Tape(Arc::new(Recorded {
            program,
            memory: Mutex::new(None),
            workspace: self.clone(),
        }))
    }

    /// One with the same lists and no memory yet.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self(Arc::new(Mutex::new(Store {
            programs: locked(&self.0).programs.clone(),
            spare: Vec::new(),
        })))
    }

    /// Lets go of the memory that is in nobody's use: between two groups it would stand beside the optimizer's state, and be taken for part of
    /// what a run holds.
    pub fn rest(&self) {
        locked(&self.0).spare.clear();
    }

    /// Memory that an earlier tape gave back, of whatever size; `None` where there is none.
    pub fn spare<M: 'static>(&self) -> Option<M> {
        let spare = locked(&self.0).spare.pop()?;
        spare.downcast::<M>().ok().map(|memory| *memory)
    }
}

/// What a forward leaves for its backward. A clone is the same one; the last to go gives the memory back.
#[derive(Clone)]
pub struct Tape(Arc<Recorded>);

struct Recorded {
    program: Arc<Program>,
    memory: Mutex<Option<Spare>>,
    workspace: Workspace,
}

impl Tape {
    /// What is to be worked off.
    pub fn program(&self) -> &Arc<Program> {
        &self.0.program
    }

    /// Where spare memory lies.
    pub fn workspace(&self) -> &Workspace {
        &self.0.workspace
    }

    /// Keeps what a forward wrote.
    pub fn keep<M: Send + 'static>(&self, memory: M) {
        *locked(&self.0.memory) = Some(Box::new(memory));
    }

    /// Works on what the forward kept; `None` where it kept nothing.
    pub fn with<M: 'static, T>(&self, work: impl FnOnce(&mut M) -> T) -> Option<T> {
        locked(&self.0.memory).as_mut()?.downcast_mut::<M>().map(work)
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if let Some(memory) = locked(&self.memory).take() {
            locked(&self.workspace.0).spare.push(memory);
        }
    }
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tape of {} positions", self.0.program.positions)
    }
}

/// A panic elsewhere leaves nothing half done here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
