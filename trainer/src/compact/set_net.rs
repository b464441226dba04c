//! [`SetNet`] on tensors: the same pass as the plain one, with gradients.

use burn::tensor::{Device, Tensor};
use sentinel_policy::nn::set_net::at;
use sentinel_policy::nn::{Architecture as _, ChoiceSet, SetFeatures, SetNet};

use super::net::{Net, Outputs, tensor};

/// A batch of [`SetFeatures`] on a device.
#[derive(Clone, Debug)]
pub struct SetInputs {
    /// `[batch * alternatives, features]`.
    rows: Tensor<2>,
    /// `[batch * alternatives, 1]`: 1 where an alternative can be chosen, else 0.
    legal: Tensor<2>,
    /// `[batch, 1]`: one over the number of alternatives that can be chosen.
    share: Tensor<2>,
}

impl SetInputs {
    /// Brings features to a device.
    #[must_use]
    pub fn new<'a, E: ChoiceSet>(
        features: impl Iterator<Item = &'a SetFeatures>,
        device: &Device,
    ) -> Self {
        let (mut rows, mut legal, mut share) = (Vec::new(), Vec::new(), Vec::new());
        for one in features {
            rows.extend_from_slice(&one.rows);
            legal.extend(one.legal.iter().map(|on| if *on { 1.0 } else { 0.0 }));
            let count = one.legal.iter().filter(|on| **on).count();
            share.push(1.0 / count.max(1) as f32);
        }
        let batch = share.len();
        let all = batch * E::ALTERNATIVES;
        Self {
            rows: tensor(rows, [all, E::SCHEMA.width()], device),
            legal: tensor(legal, [all, 1], device),
            share: tensor(share, [batch, 1], device),
        }
    }

    /// Computes the logits. The formula is at [`sentinel_policy::nn::set_net`].
    #[must_use]
    pub fn forward<E: ChoiceSet>(&self, net: &Net<SetNet<E>>) -> Outputs {
        let hidden = net.config().hidden();
        let [batch, _] = self.share.dims();
        let (alternatives, all) = (E::ALTERNATIVES, batch * E::ALTERNATIVES);
        let bias = net.parameter(at::BIAS_IN).expand([batch, hidden]);
        let first = net.set_layer(self.rows.clone(), at::ROW_IN, bias);
        let first = first * self.legal.clone().reshape([batch, alternatives, 1]);
        let pooled = first.clone().sum_dim(1).reshape([batch, hidden]) * self.share.clone();
        let shared = net.linear(pooled, at::POOL_MID, at::BIAS_MID);
        let second = net.set_layer(first.reshape([all, hidden]), at::ROW_MID, shared);
        let logits = net.product(second.reshape([all, hidden]), at::HEAD);
        Outputs {
            logits: logits.reshape([batch, alternatives]),
            beliefs: None,
        }
    }
}
