//! The device of tensors: chosen when the program runs, among those that it was built with.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

/// A kind of device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum DeviceName {
    /// The processor, through burn's flex backend. Bit-identical from run to run.
    #[default]
    Cpu,
    /// A graphics processor through WebGPU: Vulkan, Metal or DirectX.
    Wgpu,
    /// An NVIDIA graphics processor.
    Cuda,
}

/// Returns the devices of this build, with commas between.
#[must_use]
pub fn available() -> String {
    let built = |name: &DeviceName| match name {
        DeviceName::Cpu => true,
        DeviceName::Wgpu => cfg!(feature = "wgpu"),
        DeviceName::Cuda => cfg!(feature = "cuda"),
    };
    let names: Vec<&str> = (DeviceName::ALL.iter())
        .filter(|name| built(name))
        .map(|name| name.name())
        .collect();
    names.join(", ")
}

impl DeviceName {
    const ALL: [Self; 3] = [Self::Cpu, Self::Wgpu, Self::Cuda];

    /// Returns the word on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wgpu => "wgpu",
            Self::Cuda => "cuda",
        }
    }

    /// Opens the device.
    ///
    /// # Errors
    /// If this program was built without it.
    pub fn open(self) -> Result<Device, DeviceError> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)),
            #[cfg(feature = "cuda")]
            Self::Cuda => Ok(Device::cuda(0_usize)),
            #[cfg(not(all(feature = "wgpu", feature = "cuda")))]
            _ => Err(DeviceError::NotBuilt(self)),
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a device is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No device has this name.
    #[error("unknown device {0:?}: this build has {have}", have = available())]
    Unknown(String),
    /// It needs a cargo feature.
    #[error("device {0} is not in this build, which has {have}: build with `--features {0}`", have = available())]
    NotBuilt(DeviceName),
}

impl FromStr for DeviceName {
    type Err = DeviceError;

    fn from_str(word: &str) -> Result<Self, DeviceError> {
        let found = Self::ALL.into_iter().find(|name| name.name() == word);
        found.ok_or_else(|| DeviceError::Unknown(word.to_owned()))
    }
}
