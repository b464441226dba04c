//! The operations on tensors that training needs: the interface between the networks and the
//! library that computes their gradients.
//!
//! All tensors are matrices. A batch of sets with equally many rows is a matrix `[sets * rows,
//! columns]`, in which the rows of a set follow each other.

use std::ops::Range;

use sentinel_tensor::adamw::{AdamOptions, Moments};

use super::Error;

/// A matrix of `f32` on which operations are recorded, so that gradients can be computed.
///
/// Two types implement it: [`Matrix`](crate::plain::Matrix), which is part of this crate, and with
/// the feature `burn` the tensors of burn.
pub trait Tensor: Clone + 'static {
    /// The device that holds the numbers.
    type Device: Clone;
    /// The moments of AdamW for one parameter.
    type Moments: Clone;

    /// Copies numbers in row-major order to a device, as a constant.
    fn constant(values: Vec<f32>, shape: [usize; 2], device: &Self::Device) -> Self;

    /// Copies numbers in row-major order to a device, as a parameter that has gradients.
    fn parameter(values: Vec<f32>, shape: [usize; 2], device: &Self::Device) -> Self;

    /// Returns the number of rows and of columns.
    fn size(&self) -> [usize; 2];

    /// Reads the numbers in row-major order.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    fn values(&self) -> Result<Vec<f32>, Error>;

    /// Returns the same matrix, the gradients of whose uses are summed before those of other uses are
    /// added. The order of a sum decides about its last bit, and so about recorded results.
    #[must_use]
    fn grouped(self) -> Self {
        self
    }

    /// Computes the product `self * other` of matrices.
    #[must_use]
    fn product(self, other: Self) -> Self;

    /// Adds `other`, each row of it to equally many rows that follow each other: to one row if the
    /// numbers of rows are equal, to every row if `other` has one, else to the rows of a set.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// Divides by a number.
    #[must_use]
    fn divide(self, by: f32) -> Self;

    /// Multiplies each row by a number: `factors` is a constant `[rows, 1]`.
    #[must_use]
    fn scale_rows(self, factors: Self) -> Self;

    /// Replaces negative values by 0.
    #[must_use]
    fn rectify(self) -> Self;

    /// Repeats the only row `count` times.
    #[must_use]
    fn repeat_row(self, count: usize) -> Self;

    /// Computes the sum of the rows of each set, `[sets, columns]`; `rows` is their number.
    #[must_use]
    fn sum_sets(self, rows: usize) -> Self;

    /// Computes the mean of the rows of each set, `[sets, columns]`.
    #[must_use]
    fn mean_sets(self, rows: usize) -> Self;

    /// Computes the largest values of each set by column, `[sets, columns]`.
    #[must_use]
    fn max_sets(self, rows: usize) -> Self;

    /// Places the columns of each set one after the other in one row, `[sets, columns * rows]`.
    #[must_use]
    fn flatten_sets(self, rows: usize) -> Self;

    /// Returns some of the columns.
    #[must_use]
    fn columns(self, range: Range<usize>) -> Self;

    /// Places matrices with equally many rows side by side.
    #[must_use]
    fn beside(parts: Vec<Self>) -> Self;

    /// Computes the logarithm of the softmax of each row.
    #[must_use]
    fn log_softmax_rows(self) -> Self;

    /// Computes the entropy of each row of log-probabilities, `[rows, 1]`.
    #[must_use]
    fn entropy_rows(self) -> Self;

    /// Computes the cross-entropy of rows of logits against a class for each row, averaged over the
    /// rows, `[1, 1]`.
    #[must_use]
    fn cross_entropy(self, classes: &[u8]) -> Self;

    /// Computes the gradients of `sum(output * weights)` over all `outputs` with respect to
    /// `parameters`; `None` for a parameter that no output depends on. The weights are in row-major
    /// order.
    fn gradients(outputs: Vec<(Self, Vec<f32>)>, parameters: &[Option<Self>]) -> Vec<Option<Self>>;

    /// Computes the sum of the squares of all values.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    fn square_sum(&self) -> Result<f64, Error>;

    /// Multiplies a gradient by a number.
    #[must_use]
    fn scale_gradient(self, factor: f64) -> Self;

    /// Takes a step of AdamW; returns the parameter and its moments after it. `moments` are `None`
    /// before the first step.
    fn adamw(
        self,
        gradient: Self,
        moments: Option<Self::Moments>,
        options: &AdamOptions,
        learning_rate: f64,
    ) -> (Self, Option<Self::Moments>);

    /// Reads moments as plain numbers.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    fn read_moments(moments: &Self::Moments) -> Result<Moments, Error>;

    /// Copies moments to a device; their lengths must fit the shape.
    fn restore_moments(moments: Moments, shape: [usize; 2], device: &Self::Device)
    -> Self::Moments;
}
