//! The formats of numbers, compared with those of the Python package `gguf` 0.19.

use crate::gguf::tensor_type::TensorType;

/// The first three numbers of a block, its last one and a digest of all, as bits.
type Expected = (TensorType, [u32; 3], u32, u64);

/// Results of `gguf.dequantize` for the block of [`block`].
const EXPECTED: [Expected; 11] = [
    (
        TensorType::F32,
        [0x7a55_300b, 0x0ee9_c49f, 0xa27d_5833],
        0x3611_ecc7,
        0xceaf_610b_41be_5529,
    ),
    (
        TensorType::F16,
        [0x3e01_6000, 0x474a_a000, 0xc093_e000],
        0x39dd_2000,
        0x2e79_21c1_5bbd_93f5,
    ),
    (
        TensorType::Bf16,
        [0x300b_0000, 0x7a55_0000, 0xc49f_0000],
        0x0ee9_0000,
        0xf8a3_5dd2_c114_13f5,
    ),
    (
        TensorType::Q4_0,
        [0xbd17_2000, 0x3cc9_8000, 0x3db0_5000],
        0,
        0x66bd_feab_c8ce_a5a5,
    ),
    (
        TensorType::Q4_1,
        [0x3e0e_3800, 0x3b6c_0000, 0x3d85_5000],
        0x3dd0_e000,
        0x07eb_4264_fb6d_eda5,
    ),
    (
        TensorType::Q5_0,
        [0x3de2_b000, 0xbcc9_8000, 0x3d17_2000],
        0x3c49_8000,
        0x4c7a_0096_d3cd_1da5,
    ),
    (
        TensorType::Q5_1,
        [0x3e40_9800, 0x3e7f_9000, 0x3e9f_4400],
        0x3c82_4000,
        0xa2bf_f8ad_1d87_9da5,
    ),
    (
        TensorType::Q8_0,
        [0x3f85_cf00, 0x3fc0_0e00, 0xbf98_b300],
        0xbf17_2000,
        0xb83f_bda1_9db2_65a5,
    ),
    (
        TensorType::Q4K,
        [0x40d0_9c40, 0x4014_d100, 0x4087_68c0],
        0x401a_1400,
        0x02a7_31b0_a0b9_74a5,
    ),
    (
        TensorType::Q5K,
        [0x4149_e820, 0x4014_d100, 0x4125_4e60],
        0x4049_4e00,
        0x484a_0944_757c_ae95,
    ),
    (
        TensorType::Q6K,
        [0xc18c_cb50, 0x41a6_de00, 0x40e5_7140],
        0xbf3c_e800,
        0x9af8_9ca8_15a3_8c5d,
    ),
];

/// Returns a block whose byte `n` is `37 n + 11`, with scale and minimum of usual sizes; four numbers of
/// formats without blocks.
fn block(kind: TensorType) -> Vec<u8> {
    let (numbers, bytes) = kind.block();
    let count = if numbers == 1 { 4 * bytes } else { bytes };
    let mut block: Vec<u8> = (0..count).map(|at| ((37 * at + 11) % 256) as u8).collect();
    let scale = half::f16::from_f64(0.0123).to_le_bytes();
    let minimum = half::f16::from_f64(-0.0456).to_le_bytes();
    match kind {
        TensorType::F32 | TensorType::F16 | TensorType::Bf16 => {}
        TensorType::Q4_0 | TensorType::Q5_0 | TensorType::Q8_0 => {
            block[..2].copy_from_slice(&scale);
        }
        TensorType::Q6K => block[208..].copy_from_slice(&scale),
        _ => {
            block[..2].copy_from_slice(&scale);
            block[2..4].copy_from_slice(&minimum);
        }
    }
    block
}

#[test]
fn numbers_of_every_format_are_those_of_gguf() {
    let kinds = EXPECTED.map(|(kind, ..)| kind);
    assert!(TensorType::ALL.iter().all(|kind| kinds.contains(kind)));
    for (kind, first, last, digest) in EXPECTED {
        let mut numbers = Vec::new();
        kind.dequantize(&block(kind), &mut numbers);
        let bits: Vec<u32> = numbers.iter().map(|number| number.to_bits()).collect();
        assert_eq!(bits.len(), kind.block().0.max(4), "{kind:?}");
        assert_eq!(bits[..3], first, "{kind:?}");
        assert_eq!(bits.last(), Some(&last), "{kind:?}");
        let mixed = bits.iter().fold(0xcbf2_9ce4_8422_2325_u64, |digest, bits| {
            (digest ^ u64::from(*bits)).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(mixed, digest, "{kind:?}");
        assert_eq!(TensorType::from_id(kind.id()), Some(kind));
    }
}

#[test]
fn bytes_after_the_last_whole_block_are_left_out() {
    for kind in TensorType::ALL {
        let (count, bytes) = kind.block();
        let mut numbers = Vec::new();
        kind.dequantize(&vec![0; 2 * bytes - 1], &mut numbers);
        assert_eq!(numbers.len(), count, "{kind:?}");
    }
}
