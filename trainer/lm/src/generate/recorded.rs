//! Steps of decoding on a graphics processor, recorded once and replayed as one launch each.
//!
//! A step of a small model has some hundred kernels, and starting them one by one takes longer than they run. All that
//! changes from step to step is therefore on the device, in a [`StepState`].

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use burn::tensor::{Graph, capture};

use super::decoder::Decoder;
use super::drawn::{STEPS_PER_READ, Step, read_lines};
use crate::LmError;
use crate::model::cube::{SamplingOptions, StepState};

/// Steps that are made before one is recorded, which fill the pools of memory.
const STEPS_BEFORE_RECORDING: usize = 3;
/// Least number of steps to come for which one is recorded.
const MIN_STEPS: usize = 16;

type RecordedStep<'a> = Graph<(), Box<dyn FnMut() + 'a>>;

/// The rows of a decoder that makes its steps in place.
pub(super) struct RecordedSteps<'a> {
    rows: Rc<RefCell<Rows<'a>>>,
    how: SamplingOptions,
    recording: Recording<'a>,
    /// Number of the next step.
    next: usize,
}

/// The recording of a step.
enum Recording<'a> {
    /// Steps are started kernel by kernel.
    Off,
    /// A step is recorded by the next draw, or by the one after it.
    Waiting { draws: usize },
    /// It reads and writes the buffers of the rows, which must neither change their place nor be dropped before it.
    Done(RecordedStep<'a>),
}

/// The tokens of steps; `None` if the device did not record a step, after which the rows cannot be used.
pub(super) type Drawn = Option<Vec<Step>>;

struct Rows<'a> {
    decoder: Decoder<'a>,
    state: StepState,
}

impl<'a> RecordedSteps<'a> {
    /// Continues the rows of a decoder that has room for [`STEPS_PER_READ`] steps, each of which reads a token of `ids` next.
    /// `how.step` is the number of the first step. One is recorded after so many draws, or never.
    pub(super) fn new(
        decoder: Decoder<'a>,
        ids: &[u32],
        how: SamplingOptions,
        record_after: Option<usize>,
    ) -> Self {
        let state = decoder.state(ids, STEPS_PER_READ, how.step);
        Self {
            rows: Rc::new(RefCell::new(Rows { decoder, state })),
            how,
            recording: match record_after {
                Some(draws) => Recording::Waiting { draws },
                None => Recording::Off,
            },
            next: how.step as usize,
        }
    }

    /// Draws the next tokens of all rows, in at most [`STEPS_PER_READ`] of `steps` to come.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub(super) fn draw(&mut self, steps: usize) -> Result<Drawn, LmError> {
        let mut left = steps.min(STEPS_PER_READ);
        let numbers = self.next..self.next + left;
        self.next += left;
        match &mut self.recording {
            Recording::Waiting { draws: 0 } if steps >= MIN_STEPS => {
                let graph = self.record();
                if !graph.is_hardware() {
                    return Ok(None);
                }
                self.recording = Recording::Done(graph);
                left -= STEPS_BEFORE_RECORDING;
            }
            Recording::Waiting { draws } => *draws = draws.saturating_sub(1),
            Recording::Off | Recording::Done(_) => {}
        }
        for _ in 0..left {
            match &mut self.recording {
                Recording::Done(graph) => replay(graph),
                _ => self.rows.borrow_mut().step(self.how),
            }
        }
        let mut rows = self.rows.borrow_mut();
        rows.decoder.count_steps(numbers.len());
        rows.read(numbers).map(Some)
    }

    /// Makes [`STEPS_BEFORE_RECORDING`] steps and records one, which is not made.
    fn record(&self) -> RecordedStep<'a> {
        let (rows, how) = (Rc::clone(&self.rows), self.how);
        let device = self.rows.borrow().decoder.device().clone();
        let step: Box<dyn FnMut() + 'a> = Box::new(move || rows.borrow_mut().step(how));
        capture(&device, step)
    }

    /// Returns `true` if the device has recorded a step.
    pub(super) fn is_recorded(&self) -> bool {
        matches!(self.recording, Recording::Done(_))
    }

    /// Returns `true` if the next [`Self::draw`] can use the same buffers.
    pub(super) fn has_room(&self) -> bool {
        self.rows.borrow().decoder.has_room(STEPS_PER_READ)
    }

    /// Ends the recording, and returns the decoder.
    pub(super) fn into_decoder(self) -> Decoder<'a> {
        drop(self.recording);
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
    // borrows, and intermediate results, whose pages the graph keeps. Only `RecordedSteps` has the other owner of its rows. It
    // reads their tokens between replays, on the same thread, and gives the decoder back after it has dropped the graph.
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
