//! The operations of training on tensors of [`burn`].

use std::ops::Range;

use burn::optim::{AdamWState, Optimizer as _};
use burn::tensor::activation::{log_softmax, relu};
use burn::tensor::{Device, Int, TensorData};
use sentinel_tensor::adamw::{AdamOptions, Moments};
use sentinel_tensor::{matrix, numbers};

use super::Error;
use super::tensor::Tensor;

/// A tensor of burn with two dimensions.
type Burn = burn::tensor::Tensor<2>;

/// Returns sets as `[sets, rows, columns]`.
fn sets(tensor: Burn, rows: usize) -> burn::tensor::Tensor<3> {
    let [all, columns] = tensor.dims();
    tensor.reshape([all / rows, rows, columns])
}

/// Returns one row for each set of `[sets, 1, columns]`.
fn pooled(tensor: burn::tensor::Tensor<3>) -> Burn {
    let [sets, _, columns] = tensor.dims();
    tensor.reshape([sets, columns])
}

impl Tensor for Burn {
    type Device = Device;
    type Moments = AdamWState<2>;

    fn constant(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Self {
        matrix(values, shape, device)
    }

    fn parameter(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Self {
        matrix(values, shape, device).autodiff().require_grad()
    }

    fn size(&self) -> [usize; 2] {
        self.dims()
    }

    fn values(&self) -> Result<Vec<f32>, Error> {
        Ok(numbers(self.clone())?)
    }

    fn grouped(self) -> Self {
        pooled(sets(self, 1))
    }

    fn product(self, other: Self) -> Self {
        self.matmul(other)
    }

    fn plus(self, other: Self) -> Self {
        let ([all, columns], [count, _]) = (self.dims(), other.dims());
        if count == 1 || count == all {
            return self + other;
        }
        let sum = sets(self, all / count) + sets(other, 1);
        sum.reshape([all, columns])
    }

    fn divide(self, by: f32) -> Self {
        self / by
    }

    fn scale_rows(self, factors: Self) -> Self {
        self * factors
    }

    fn rectify(self) -> Self {
        relu(self)
    }

    fn repeat_row(self, count: usize) -> Self {
        let [_, columns] = self.dims();
        self.expand([count, columns])
    }

    fn sum_sets(self, rows: usize) -> Self {
        pooled(sets(self, rows).sum_dim(1))
    }

    fn mean_sets(self, rows: usize) -> Self {
        pooled(sets(self, rows).mean_dim(1))
    }

    fn max_sets(self, rows: usize) -> Self {
        pooled(sets(self, rows).max_dim(1))
    }

    fn flatten_sets(self, rows: usize) -> Self {
        let [all, columns] = self.dims();
        let by_column = sets(self, rows).swap_dims(1, 2);
        by_column.reshape([all / rows, columns * rows])
    }

    fn columns(self, range: Range<usize>) -> Self {
        let [rows, _] = self.dims();
        self.slice([0..rows, range])
    }

    fn beside(parts: Vec<Self>) -> Self {
        Self::cat(parts, 1)
    }

    fn log_softmax_rows(self) -> Self {
        log_softmax(self, 1)
    }

    fn entropy_rows(self) -> Self {
        -(self.clone().exp() * self).sum_dim(1)
    }

    fn cross_entropy(self, classes: &[u8]) -> Self {
        let device = self.device().inner();
        let classes: Vec<i32> = classes.iter().map(|class| i32::from(*class)).collect();
        let rows = classes.len();
        let classes = TensorData::new(classes, [rows, 1]);
        let classes = burn::tensor::Tensor::<2, Int>::from_data(classes, &device);
        let mean = -log_softmax(self, 1).gather(1, classes).mean();
        mean.reshape([1, 1])
    }

    fn gradients(outputs: Vec<(Self, Vec<f32>)>, parameters: &[Option<Self>]) -> Vec<Option<Self>> {
        let weighted = |(output, weights): (Self, Vec<f32>)| {
            let weights = matrix(weights, output.dims(), &output.device().inner());
            (output * weights).sum()
        };
        let objective = outputs.into_iter().map(weighted).reduce(|a, b| a + b);
        let Some(gradients) = objective.map(|objective| objective.backward()) else {
            return vec![None; parameters.len()];
        };
        let of = |tensor: &Option<Self>| tensor.as_ref().and_then(|t| t.grad(&gradients));
        parameters.iter().map(of).collect()
    }

    fn square_sum(&self) -> Result<f64, Error> {
        let sum = numbers(self.clone().square().sum())?;
        Ok(sum.iter().map(|s| f64::from(*s)).sum())
    }

    fn scale_gradient(self, factor: f64) -> Self {
        self.mul_scalar(factor)
    }

    fn adamw(
        self,
        gradient: Self,
        moments: Option<AdamWState<2>>,
        options: &AdamOptions,
        learning_rate: f64,
    ) -> (Self, Option<AdamWState<2>>) {
        let rule = options.update_rule(options.weight_decay);
        let (moved, moments) = rule.step(learning_rate, self.inner(), gradient, moments);
        (moved.autodiff().require_grad(), moments)
    }

    fn read_moments(moments: &AdamWState<2>) -> Result<Moments, Error> {
        Ok(Moments::from_device(moments)?)
    }

    fn restore_moments(moments: Moments, shape: [usize; 2], device: &Device) -> AdamWState<2> {
        moments.into_device(shape, device)
    }
}
