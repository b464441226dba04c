//! The policy's network as tensors: the same parameters as [`Weights`], with gradients.

use burn::tensor::activation::relu;
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use sentinel_env::slot::SLOTS;
use sentinel_policy::learned::layout::{GLOBAL_ACTIONS, SLOT_ACTIONS, at, shapes};
use sentinel_policy::learned::{Features, GLOBAL, NetConfig, PER_SLOT, Pooling, Weights};

use super::TrainError;

/// Parameters on a device, in the order of [`shapes`].
#[derive(Clone, Debug)]
pub struct Net {
    config: NetConfig,
    device: Device,
    /// Absent where a shape has no number at all.
    pub(super) tensors: Vec<Option<Tensor<2>>>,
}

/// Observations on a device.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// `[batch * slots, features]`.
    slots: Tensor<2>,
    /// `[batch, features]`.
    global: Tensor<2>,
}

/// What the network says to a batch.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// `[batch, 12]`: logits of the actions.
    pub actions: Tensor<2>,
    /// `[batch * slots, behaviours]`: logits of who is who.
    pub beliefs: Tensor<2>,
}

impl Inputs {
    /// Brings features to a device.
    #[must_use]
    pub fn new<'a>(features: impl Iterator<Item = &'a Features>, device: &Device) -> Self {
        let (mut slots, mut global, mut batch) = (Vec::new(), Vec::new(), 0);
        for one in features {
            slots.extend(one.slots.iter().flatten());
            global.extend_from_slice(&one.global);
            batch += 1;
        }
        Self {
            slots: tensor(slots, [batch * SLOTS, PER_SLOT], device),
            global: tensor(global, [batch, GLOBAL], device),
        }
    }
}

/// A tensor of numbers, row by row.
pub(super) fn tensor(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// A tensor's numbers, row by row.
pub(super) fn numbers<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, TrainError> {
    let read = tensor.try_into_vec_as::<f32>();
    read.map_err(|error| TrainError::Device(format!("{error:?}")))
}

impl Net {
    /// Brings weights to a device, with gradients when the device keeps them.
    #[must_use]
    pub fn new(weights: &Weights, device: &Device) -> Self {
        let place = |(shape, values): (_, &[f32])| {
            let shape: sentinel_policy::learned::layout::Shape = shape;
            let whole = [shape.rows, shape.columns];
            let tensor = || {
                tensor(values.to_vec(), whole, device)
                    .autodiff()
                    .require_grad()
            };
            (!values.is_empty()).then(tensor)
        };
        Self {
            config: *weights.config(),
            device: device.clone(),
            tensors: weights.iter().map(place).collect(),
        }
    }

    /// Where the parameters are.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// The parameters as plain numbers.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn weights(&self) -> Result<Weights, TrainError> {
        let mut values: [Vec<f32>; at::COUNT] = Default::default();
        for (values, tensor) in values.iter_mut().zip(&self.tensors) {
            if let Some(tensor) = tensor {
                *values = numbers(tensor.clone())?;
            }
        }
        let lost = || TrainError::Device("a parameter changed its shape".to_owned());
        Weights::from_tensors(self.config, values).ok_or_else(lost)
    }

    /// The gradient of each parameter.
    pub(super) fn gradients(&self, gradients: &Gradients) -> Vec<Option<Tensor<2>>> {
        let of = |tensor: &Option<Tensor<2>>| tensor.as_ref().and_then(|t| t.grad(gradients));
        self.tensors.iter().map(of).collect()
    }

    /// Runs the network; see the plain pass in `sentinel_policy::learned` for the formula.
    #[must_use]
    pub fn forward(&self, inputs: &Inputs) -> Outputs {
        let hidden = self.config.hidden;
        let [batch, _] = inputs.global.dims();
        let rows = [batch * SLOTS, hidden];
        let per_slot = [batch, SLOTS, hidden];

        let shared = self.product(inputs.global.clone(), at::GLOBAL_IN) + self.get(at::BIAS_IN);
        let own = self.product(inputs.slots.clone(), at::SLOT_IN);
        let first = relu(own.reshape(per_slot) + shared.reshape([batch, 1, hidden]));

        let pooled = match self.config.pooling {
            Pooling::None => None,
            Pooling::Mean => Some(first.clone().mean_dim(1)),
            Pooling::Max => Some(first.clone().max_dim(1)),
        };
        let shared = match pooled {
            Some(pooled) => {
                self.product(pooled.reshape([batch, hidden]), at::POOL_MID) + self.get(at::BIAS_MID)
            }
            None => self.get(at::BIAS_MID).expand([batch, hidden]),
        };
        let own = self.product(first.reshape(rows), at::SLOT_MID);
        let second = relu(own.reshape(per_slot) + shared.reshape([batch, 1, hidden]));
        self.heads(second, batch)
    }

    fn heads(&self, second: Tensor<3>, batch: usize) -> Outputs {
        let hidden = self.config.hidden;
        let mean = second.clone().mean_dim(1).reshape([batch, hidden]);
        let rows = second.reshape([batch * SLOTS, hidden]);
        let slots = self.product(rows.clone(), at::SLOT_ACTIONS) + self.get(at::SLOT_ACTIONS_BIAS);
        let by_action = slots.reshape([batch, SLOTS, SLOT_ACTIONS]).swap_dims(1, 2);
        let others = self.product(mean, at::GLOBAL_ACTIONS) + self.get(at::GLOBAL_ACTIONS_BIAS);
        debug_assert_eq!(others.dims(), [batch, GLOBAL_ACTIONS]);
        Outputs {
            actions: Tensor::cat(
                vec![by_action.reshape([batch, SLOTS * SLOT_ACTIONS]), others],
                1,
            ),
            beliefs: self.product(rows, at::BELIEF) + self.get(at::BELIEF_BIAS),
        }
    }

    fn product(&self, x: Tensor<2>, index: usize) -> Tensor<2> {
        x.matmul(self.get(index))
    }

    fn get(&self, index: usize) -> Tensor<2> {
        match &self.tensors[index] {
            Some(tensor) => tensor.clone(),
            None => {
                let shape = shapes(&self.config)[index];
                Tensor::zeros([shape.rows, shape.columns], &self.device)
            }
        }
    }
}
