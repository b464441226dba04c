//! The algorithms, one module each: what is played, what is minimised, and what is logged.
//!
//! * [`grpo`]: group-relative policy optimization of a compact policy, `sentinel train`.
//! * [`imitation`]: imitation of a teacher along the learner's own episodes, `sentinel imitate`.
//! * [`sft`]: supervised fine-tuning of a language model, `sentinel lm sft`.
//! * [`lm_grpo`]: GRPO of a language model, `sentinel lm grpo`.
//!
//! Losses and advantages that two of them share are pure functions in [`crate::rl`]; the run around all of
//! them is [`crate::run`], with [`crate::compact`] and [`crate::finetune`] for the two kinds of model.

pub mod grpo;
pub mod imitation;
pub mod lm_grpo;
pub mod sft;
