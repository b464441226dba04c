//! The state of a generation on the device, which a recorded step reads and advances in place.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use burn_backend::cubecl::dtype_to_elem_type;
use burn_cubecl::Cube;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{Tensor as Buffer, *};

use super::block::{MAX_UNITS, UNITS, blocks, row_of_block, units};
use super::decode::DecodePlaces;
use super::device_tensor::{dense, on_device};
use super::vocabulary::{SamplingOptions, draw_token, hash};

/// The rows of a generation, and the tokens drawn in the last steps.
///
/// Its tensors are written in place: copies of them change, too. They stay the same buffers as long as the state exists.
#[derive(Debug)]
pub struct StepState {
    /// `[rows]`: the last token of each row, which the next step reads.
    pub ids: Tensor<1, Int>,
    /// The places of these tokens.
    pub places: DecodePlaces,
    /// `[room, rows]`: tokens of the last `room` steps; those of step `n` are in line `n % room`.
    pub tokens: Tensor<2, Int>,
    /// `[room, rows]`: log-probabilities of `tokens`.
    pub logps: Tensor<2>,
    /// `[1]`: number of the step.
    step: Tensor<1, Int>,
}

/// The rows of a new [`StepState`].
#[derive(Clone, Copy, Debug)]
pub struct StateOfRows<'a> {
    /// The last token of each row.
    pub ids: &'a [u32],
    /// The position of that token in its row.
    pub positions: &'a [usize],
    /// The first column of the cache that belongs to a row.
    pub starts: &'a [usize],
    /// The column of the cache for these tokens.
    pub column: usize,
    /// The number of the first step.
    pub step: u32,
}

impl StepState {
    /// Copies rows to a device, with the tables of cosines and sines of all positions and room for the tokens of `room` steps.
    #[must_use]
    pub fn new(rows: &StateOfRows<'_>, rope: [Tensor<2>; 2], room: usize, device: &Device) -> Self {
        let count = rows.ids.len();
        let whole = |values: &[usize]| {
            let values = values
                .iter()
                .map(|value| i32::try_from(*value).unwrap_or(i32::MAX));
            int_tensor(values.collect(), device)
        };
        let ids: Vec<usize> = rows.ids.iter().map(|id| *id as usize).collect();
        Self {
            ids: whole(&ids),
            places: DecodePlaces {
                rope,
                positions: whole(rows.positions),
                starts: whole(rows.starts),
                column: whole(&[rows.column]),
            },
            tokens: int_tensor(vec![0; room * count], device).reshape([room, count]),
            // A matrix from the host can have gaps between its rows.
            logps: Tensor::<1>::from_data(
                TensorData::new(vec![0.0_f32; room * count], [room * count]),
                device,
            )
            .reshape([room, count]),
            step: whole(&[rows.step as usize]),
        }
    }

    /// Draws a token of each row of logits, `[rows, vocabulary]`, with the random numbers of the state's step in place of
    /// those of `options.step`; then advances all rows by one token and one column. Returns `None` without a change if the
    /// shapes do not fit.
    #[must_use]
    pub fn draw_and_advance(&self, logits: &Tensor<2>, options: SamplingOptions) -> Option<()> {
        let ([rows, width], [room, count]) = (logits.dims(), self.tokens.dims());
        let logits = dense(on_device(logits)?)?;
        if rows != count || width == 0 {
            return None;
        }
        let [ids, positions, column, step] = [
            buffer(&self.ids)?,
            buffer(&self.places.positions)?,
            buffer(&self.places.column)?,
            buffer(&self.step)?,
        ];
        let tokens = buffer(&self.tokens)?;
        let logps = on_device(&self.logps).filter(CubeTensor::is_contiguous)?;
        let client = logits.client.clone();
        let of_rows = units(&logits, MAX_UNITS);
        draw_kernel::launch(
            &client,
            blocks(rows),
            CubeDim::new_1d(of_rows),
            logits.clone().into_tensor_arg(),
            step.clone().into_tensor_arg(),
            ids.into_tensor_arg(),
            tokens.into_tensor_arg(),
            logps.into_tensor_arg(),
            rows,
            width,
            room,
            options.inverse_temperature(),
            options.noise(),
            options.seed,
            of_rows,
            dtype_to_elem_type(logits.dtype),
        );
        advance_kernel::launch(
            &client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(units(&logits, UNITS)),
            positions.into_tensor_arg(),
            column.into_tensor_arg(),
            step.into_tensor_arg(),
            rows,
        );
        Some(())
    }
}

fn int_tensor(values: Vec<i32>, device: &Device) -> Tensor<1, Int> {
    let count = values.len();
    Tensor::from_data(TensorData::new(values, [count]), (device, DType::I32))
}

/// Returns the buffer of whole numbers without gaps, and not a copy of it.
fn buffer<const D: usize>(numbers: &Tensor<D, Int>) -> Option<CubeTensor> {
    let numbers = numbers.clone().try_into_primitive::<Cube>().ok()?;
    (numbers.dtype == DType::I32 && numbers.is_contiguous()).then_some(numbers)
}

#[cube(launch)]
fn draw_kernel<F: Float>(
    logits: &Buffer<F>,
    step: &Buffer<i32>,
    ids: &mut Buffer<i32>,
    tokens: &mut Buffer<i32>,
    logps: &mut Buffer<f32>,
    rows: usize,
    width: usize,
    room: usize,
    inverse_temperature: f32,
    noise: f32,
    seed: u32,
    #[comptime] units: u32,
    #[define(F)] _kind: ElemType,
) {
    let row = row_of_block();
    if row < rows {
        let number = u32::cast_from(step[0]);
        let key = hash(hash(seed ^ hash(number)) ^ u32::cast_from(row));
        let start = row * width;
        let (id, logp) =
            draw_token::<F>(logits, start, width, inverse_temperature, noise, key, units);
        if UNIT_POS == 0 {
            let line = number as usize % room * rows + row;
            ids[row] = i32::cast_from(id);
            tokens[line] = i32::cast_from(id);
            logps[line] = logp;
        }
    }
}

#[cube(launch)]
fn advance_kernel(
    positions: &mut Buffer<i32>,
    column: &mut Buffer<i32>,
    step: &mut Buffer<i32>,
    rows: usize,
) {
    let mut row = UNIT_POS as usize;
    while row < rows {
        positions[row] += 1;
        row += CUBE_DIM_X as usize;
    }
    if UNIT_POS == 0 {
        column[0] += 1;
        step[0] += 1;
    }
}
