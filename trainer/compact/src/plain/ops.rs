//! The operations, each with its pullbacks.

use std::ops::Range;
use std::sync::Arc;

use sentinel_kernels::matmul::{MatrixView, product};
use sentinel_tensor::adamw::{AdamOptions, Moments};

use super::{Cpu, Matrix, Pullback, adamw, backward};
use crate::Error;
use crate::tensor::Tensor;

/// Computes the sums of each `rows` rows that follow each other.
fn sum_rows(values: &[f32], columns: usize, rows: usize) -> Vec<f32> {
    let mut sums = Vec::with_capacity(values.len() / rows.max(1));
    for set in values.chunks_exact((rows * columns).max(1)) {
        let start = sums.len();
        sums.extend_from_slice(&set[..columns]);
        for row in set[columns..].chunks_exact(columns) {
            for (sum, value) in sums[start..].iter_mut().zip(row) {
                *sum += value;
            }
        }
    }
    sums
}

/// Repeats each row `count` times.
fn repeat_rows(values: &[f32], columns: usize, count: usize) -> Vec<f32> {
    let mut all = Vec::with_capacity(values.len() * count);
    for row in values.chunks_exact(columns) {
        for _ in 0..count {
            all.extend_from_slice(row);
        }
    }
    all
}

/// Copies `values` into `out`, where rows of `from` numbers become rows of `to`, from column
/// `start` of the longer rows.
fn copy_columns(values: &[f32], from: usize, out: &mut [f32], to: usize, start: usize) {
    for (row, out) in values.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
        if from < to {
            out[start..start + from].copy_from_slice(row);
        } else {
            out.copy_from_slice(&row[start..start + to]);
        }
    }
}

/// Transposes each of the matrices `[rows, columns]` that follow each other.
fn transpose_each(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let mut all = Vec::with_capacity(values.len());
    for one in values.chunks_exact(rows * columns) {
        for column in 0..columns {
            all.extend(one[column..].iter().step_by(columns));
        }
    }
    all
}

/// Computes the logarithm of the softmax of each row.
fn log_softmax(values: &[f32], columns: usize) -> Vec<f32> {
    let mut all = Vec::with_capacity(values.len());
    for row in values.chunks_exact(columns) {
        let larger = |a: f32, b: f32| if b > a { b } else { a };
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, larger);
        let sum: f32 = row.iter().map(|value| libm::expf(value - largest)).sum();
        let log = libm::logf(sum);
        all.extend(row.iter().map(|value| value - largest - log));
    }
    all
}

fn exp(values: &[f32]) -> Vec<f32> {
    values.iter().map(|value| libm::expf(*value)).collect()
}

/// Multiplies each row by its factor, in place.
fn scale_rows(values: &mut [f32], columns: usize, factors: &[f32]) {
    for (row, factor) in values.chunks_exact_mut(columns).zip(factors) {
        for value in row {
            *value *= factor;
        }
    }
}

fn view(matrix: &Matrix) -> MatrixView<'_> {
    MatrixView::new(&matrix.values, matrix.shape())
}

impl Tensor for Matrix {
    type Device = Cpu;
    type Moments = Moments;

    fn constant(values: Vec<f32>, shape: [usize; 2], _device: &Cpu) -> Self {
        Self::new(shape, values, false)
    }

    fn parameter(values: Vec<f32>, shape: [usize; 2], _device: &Cpu) -> Self {
        Self::new(shape, values, true)
    }

    fn size(&self) -> [usize; 2] {
        self.shape()
    }

    fn values(&self) -> Result<Vec<f32>, Error> {
        Ok(self.values.to_vec())
    }

    fn product(self, other: Self) -> Self {
        let shape = [self.shape()[0], other.shape()[1]];
        let values = product(view(&self), view(&other));
        let (a, b) = (self.clone(), other.clone());
        let by_self = move |gradient: &mut Vec<f32>| {
            product(MatrixView::new(gradient, shape), view(&b).transposed())
        };
        let by_other = move |gradient: &mut Vec<f32>| {
            product(view(&a).transposed(), MatrixView::new(gradient, shape))
        };
        let inputs: [(_, Pullback); 2] = [
            (self.node, Box::new(by_self)),
            (other.node, Box::new(by_other)),
        ];
        Self::computed(shape, values, inputs)
    }

    fn plus(self, other: Self) -> Self {
        let ([all, columns], [count, _]) = (self.shape(), other.shape());
        let rows = all / count.max(1);
        let (node, mut values) = self.into_parts();
        let sets = values.chunks_exact_mut((rows * columns).max(1));
        for (set, other) in sets.zip(other.values.chunks_exact(columns)) {
            for row in set.chunks_exact_mut(columns) {
                for (value, other) in row.iter_mut().zip(other) {
                    *value += other;
                }
            }
        }
        let by_other = move |gradient: &mut Vec<f32>| sum_rows(gradient, columns, rows);
        let inputs: [(_, Pullback); 2] = [
            (other.node, Box::new(by_other)),
            (node, Box::new(std::mem::take)),
        ];
        Self::computed([all, columns], values, inputs)
    }

    fn divide(self, by: f32) -> Self {
        let divide = move |values: &mut Vec<f32>| {
            values.iter_mut().for_each(|value| *value /= by);
            std::mem::take(values)
        };
        let shape = self.shape();
        let (node, mut values) = self.into_parts();
        let values = divide(&mut values);
        Self::computed_from(node, shape, values, divide)
    }

    fn scale_rows(self, factors: Self) -> Self {
        debug_assert!(!factors.node.has_gradient(), "factors are constants");
        let shape = self.shape();
        let scale = move |values: &mut Vec<f32>| {
            scale_rows(values, shape[1], &factors.values);
            std::mem::take(values)
        };
        let (node, mut values) = self.into_parts();
        let values = scale(&mut values);
        Self::computed_from(node, shape, values, scale)
    }

    fn rectify(self) -> Self {
        let shape = self.shape();
        let (node, mut values) = self.into_parts();
        for value in &mut values {
            if *value < 0.0 {
                *value = 0.0;
            }
        }
        let values = Arc::new(values);
        let after = Arc::clone(&values);
        let pullback = move |gradient: &mut Vec<f32>| {
            for (gradient, after) in gradient.iter_mut().zip(after.iter()) {
                *gradient = if *after > 0.0 { *gradient } else { 0.0 };
            }
            std::mem::take(gradient)
        };
        Self::computed_from(node, shape, values, pullback)
    }

    fn repeat_row(self, count: usize) -> Self {
        let [_, columns] = self.shape();
        let values = repeat_rows(&self.values, columns, count);
        let pullback = move |gradient: &mut Vec<f32>| sum_rows(gradient, columns, count);
        Self::computed_from(self.node, [count, columns], values, pullback)
    }

    fn sum_sets(self, rows: usize) -> Self {
        let [all, columns] = self.shape();
        let values = sum_rows(&self.values, columns, rows);
        let pullback = move |gradient: &mut Vec<f32>| repeat_rows(gradient, columns, rows);
        Self::computed_from(self.node, [all / rows, columns], values, pullback)
    }

    fn mean_sets(self, rows: usize) -> Self {
        self.sum_sets(rows).divide(rows as f32)
    }

    fn max_sets(self, rows: usize) -> Self {
        let [all, columns] = self.shape();
        let (mut values, mut places) = (Vec::new(), Vec::new());
        for (set, numbers) in self.values.chunks_exact(rows * columns).enumerate() {
            for column in 0..columns {
                let mut best = column;
                for place in (column..numbers.len()).step_by(columns) {
                    if numbers[place] > numbers[best] {
                        best = place;
                    }
                }
                values.push(numbers[best]);
                places.push(set * rows * columns + best);
            }
        }
        let pullback = move |gradient: &mut Vec<f32>| {
            let mut all = vec![0.0; all * columns];
            for (place, gradient) in places.iter().zip(gradient) {
                all[*place] = *gradient;
            }
            all
        };
        Self::computed_from(self.node, [all / rows, columns], values, pullback)
    }

    fn flatten_sets(self, rows: usize) -> Self {
        let [all, columns] = self.shape();
        let values = transpose_each(&self.values, rows, columns);
        let pullback = move |gradient: &mut Vec<f32>| transpose_each(gradient, columns, rows);
        Self::computed_from(self.node, [all / rows, columns * rows], values, pullback)
    }

    fn columns(self, range: Range<usize>) -> Self {
        let [rows, columns] = self.shape();
        let (count, start) = (range.len(), range.start);
        let mut values = vec![0.0; rows * count];
        copy_columns(&self.values, columns, &mut values, count, start);
        let pullback = move |gradient: &mut Vec<f32>| {
            let mut all = vec![0.0; rows * columns];
            copy_columns(gradient, count, &mut all, columns, start);
            all
        };
        Self::computed_from(self.node, [rows, count], values, pullback)
    }

    fn beside(parts: Vec<Self>) -> Self {
        let rows = parts.first().map_or(0, |part| part.shape()[0]);
        let columns = parts.iter().map(|part| part.shape()[1]).sum();
        let mut values = vec![0.0; rows * columns];
        let (mut inputs, mut start) = (Vec::with_capacity(parts.len()), 0);
        for part in parts {
            let [_, count] = part.shape();
            copy_columns(&part.values, count, &mut values, columns, start);
            let pullback = move |gradient: &mut Vec<f32>| {
                let mut own = vec![0.0; rows * count];
                copy_columns(gradient, columns, &mut own, count, start);
                own
            };
            inputs.push((part.node, Box::new(pullback) as Pullback));
            start += count;
        }
        Self::computed([rows, columns], values, inputs)
    }

    fn log_softmax_rows(self) -> Self {
        let [rows, columns] = self.shape();
        let values = log_softmax(&self.values, columns);
        let probabilities = exp(&values);
        let pullback = move |gradient: &mut Vec<f32>| {
            let gradients = gradient.chunks_exact(columns);
            gradients
                .zip(probabilities.chunks_exact(columns))
                .flat_map(|(gradient, probabilities)| {
                    let sum: f32 = gradient.iter().sum();
                    let pairs = gradient.iter().zip(probabilities);
                    pairs.map(move |(gradient, probability)| gradient - probability * sum)
                })
                .collect()
        };
        Self::computed_from(self.node, [rows, columns], values, pullback)
    }

    fn entropy_rows(self) -> Self {
        let [rows, columns] = self.shape();
        let probabilities = exp(&self.values);
        let logs = self.clone();
        let entropy = |(logs, probabilities): (&[f32], &[f32])| -> f32 {
            -(logs.iter().zip(probabilities))
                .map(|(log, probability)| probability * log)
                .sum::<f32>()
        };
        let pairs = logs.values.chunks_exact(columns);
        let values: Vec<f32> = pairs
            .zip(probabilities.chunks_exact(columns))
            .map(entropy)
            .collect();
        let pullback = move |gradient: &mut Vec<f32>| {
            let pairs = logs.values.iter().zip(&probabilities).enumerate();
            pairs
                .map(|(at, (log, probability))| {
                    -gradient[at / columns] * (probability * log + probability)
                })
                .collect()
        };
        Self::computed_from(self.node, [rows, 1], values, pullback)
    }

    fn cross_entropy(self, classes: &[u8]) -> Self {
        let [rows, columns] = self.shape();
        let logs = log_softmax(&self.values, columns);
        let places: Vec<usize> = (classes.iter().enumerate())
            .map(|(row, class)| row * columns + usize::from(*class))
            .collect();
        let mean = -places.iter().map(|place| logs[*place]).sum::<f32>() / rows as f32;
        let pullback = move |gradient: &mut Vec<f32>| {
            let each = gradient[0] / rows as f32;
            let mut all: Vec<f32> = logs.iter().map(|log| libm::expf(*log) * each).collect();
            for place in &places {
                all[*place] -= each;
            }
            all
        };
        Self::computed_from(self.node, [1, 1], vec![mean], pullback)
    }

    fn gradients(outputs: Vec<(Self, Vec<f32>)>, parameters: &[Option<Self>]) -> Vec<Option<Self>> {
        let mut found = backward(outputs);
        let mut of = |parameter: &Self| {
            let gradient = found.remove(&parameter.node.id)?;
            Some(Self::new(parameter.shape(), gradient, false))
        };
        let parameters = parameters.iter();
        parameters
            .map(|one| one.as_ref().and_then(&mut of))
            .collect()
    }

    fn square_sum(&self) -> Result<f64, Error> {
        let squares = self.values.iter().map(|value| {
            let value = f64::from(*value);
            value * value
        });
        Ok(squares.sum())
    }

    fn scale_gradient(self, factor: f64) -> Self {
        let shape = self.shape();
        let mut values = self.into_parts().1;
        for value in &mut values {
            *value *= factor as f32;
        }
        Self::new(shape, values, false)
    }

    fn adamw(
        self,
        gradient: Self,
        moments: Option<Moments>,
        options: &AdamOptions,
        learning_rate: f64,
    ) -> (Self, Option<Moments>) {
        let shape = self.shape();
        let (mut values, mut moments) = (self.into_parts().1, moments.unwrap_or_default());
        adamw::step(
            &mut values,
            &gradient.values,
            &mut moments,
            options,
            learning_rate,
        );
        (Self::new(shape, values, true), Some(moments))
    }

    fn read_moments(moments: &Moments) -> Result<Moments, Error> {
        Ok(moments.clone())
    }

    fn restore_moments(moments: Moments, _shape: [usize; 2], _device: &Cpu) -> Moments {
        moments
    }
}
