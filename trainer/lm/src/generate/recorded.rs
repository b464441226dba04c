//! Steps of decoding on a graphics processor, recorded once and replayed as one launch each.
//!
//! A step of a small model has some hundred kernels, and starting them one by one takes longer than they run. All that
//! changes from step to step is therefore on the device, in a [`StepState`].

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use burn::tensor::{Graph, capture};

use super::decoder::Decoder;
use super::device::{Step, read_lines};
use crate::LmError;
use crate::model::cube::{SamplingOptions, StepState};

/// Number of steps that are generated between two reads, and whose tokens a state holds.
pub(super) const STEPS_PER_READ: usize = 8;
/// Steps that are made while one is recorded: three that fill the pools of memory, and a fourth if nothing can be recorded.
const RECORDING_STEPS: [usize; 2] = [3, 4];

type RecordedStep<'a> = Graph<(), Box<dyn FnMut() + 'a>>;

/// The rows of a decoder that makes its steps in place.
pub(super) struct RecordedSteps<'a> {
    rows: Rc<RefCell<Rows<'a>>>,
    how: SamplingOptions,
    /// Whether steps are recorded.
    records: bool,
    /// It reads and writes the buffers of `rows`, which must neither change their place nor be dropped before it.
    graph: Option<RecordedStep<'a>>,
    /// Number of the next step.
    next: usize,
}

struct Rows<'a> {
    decoder: Decoder<'a>,
    state: StepState,
}

impl<'a> RecordedSteps<'a> {
    /// Continues the rows of a decoder that has room for [`STEPS_PER_READ`] steps, each of which reads a token of `ids` next. `how.step` is the number of the first step.
    pub(super) fn new(
        decoder: Decoder<'a>,
        ids: &[u32],
        how: SamplingOptions,
        records: bool,
    ) -> Self {
        let state = decoder.state(ids, STEPS_PER_READ, how.step);
        Self {
            rows: Rc::new(RefCell::new(Rows { decoder, state })),
            how,
            records,
            graph: None,
            next: how.step as usize,
        }
    }

    /// Draws the next tokens of all rows in at most [`STEPS_PER_READ`] steps.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub(super) fn draw(&mut self, steps: usize) -> Result<Vec<Step>, LmError> {
        let mut left = steps.min(STEPS_PER_READ);
        let numbers = self.next..self.next + left;
        self.next += left;
        if self.records && self.graph.is_none() && left >= RECORDING_STEPS[1] {
            left -= self.record();
        }
        for _ in 0..left {
            match &mut self.graph {
                Some(graph) => replay(graph),
                None => self.rows.borrow_mut().step(self.how),
            }
        }
        let mut rows = self.rows.borrow_mut();
        rows.decoder.count_steps(numbers.len());
        rows.read(numbers)
    }

    /// Records a step, and returns how many steps were made for it.
    fn record(&mut self) -> usize {
        let (rows, how) = (Rc::clone(&self.rows), self.how);
        let device = self.rows.borrow().decoder.device().clone();
        let step: Box<dyn FnMut() + 'a> = Box::new(move || rows.borrow_mut().step(how));
        let graph = capture(&device, step);
        let made = RECORDING_STEPS[usize::from(!graph.is_hardware())];
        self.graph = Some(graph);
        made
    }

    /// Returns `true` if the device has recorded a step.
    pub(super) fn is_recorded(&self) -> bool {
        self.graph.as_ref().is_some_and(Graph::is_hardware)
    }

    /// Returns `true` if the next [`Self::draw`] can use the same buffers.
    pub(super) fn has_room(&self) -> bool {
        self.rows.borrow().decoder.has_room(STEPS_PER_READ)
    }

    /// Ends the recording, and returns the decoder.
    pub(super) fn into_decoder(mut self) -> Decoder<'a> {
        self.graph = None;
        let rows = Rc::into_inner(self.rows).expect("the only other owner was the graph");
        rows.into_inner().decoder
    }
}

/// Makes a recorded step.
#[expect(
    unsafe_code,
    reason = "a recorded step writes to buffers that nothing else may use"
)]
fn replay(graph: &mut RecordedStep<'_>) {
    // SAFETY: The closure of the graph owns all tensors that a step reads and writes, but the model, which the decoder
    // borrows. Intermediate results are in pages of the graph, and nothing else is computed on the device as long as it
    // exists: `RecordedSteps` reads tokens on the same thread after replays, and gives the decoder back only without it.
    unsafe { graph.replay() };
}

impl Rows<'_> {
    fn step(&mut self, how: SamplingOptions) {
        self.decoder.step_in_place(&self.state, how);
    }

    /// Reads the tokens of steps with these numbers.
    fn read(&self, numbers: Range<usize>) -> Result<Vec<Step>, LmError> {
        let all = read_lines(self.state.tokens.clone(), self.state.logps.clone())?;
        let line = |step: usize| all.get(step % STEPS_PER_READ).cloned();
        Ok(numbers.filter_map(line).collect())
    }
}
