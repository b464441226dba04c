//! The training algorithms, one module each: rollouts, loss and logged metrics.
//!
//! * [`grpo`]: group-relative policy optimization of a compact policy, `sentinel train`.
//! * [`imitation`]: imitation of a teacher on the learner's own episodes, `sentinel imitate`.
//! * [`expert_iteration`]: imitation of look-ahead over the learner itself, `sentinel improve`.
//! * [`sft`]: supervised fine-tuning of a language model, `sentinel lm sft`.
//! * [`lm_grpo`]: GRPO of a language model, `sentinel lm grpo`.
//!
//! Losses and advantages that several algorithms share are pure functions in [`crate::rl`]. The run
//! around them is [`crate::run`], with [`crate::compact`] and [`crate::finetune`] for the two kinds
//! of model.

pub mod expert_iteration;
pub mod grpo;
pub mod imitation;
pub mod lm_grpo;
pub mod sft;
