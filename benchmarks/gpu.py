"""What a GPU makes of training: entries a second, a billion entries, and ten splits.

    python benchmarks/gpu.py throughput        K = 100, R = 20, 10,000 x 5,000 x 1,000, batch 524,288
    python benchmarks/gpu.py variants          the same with other settings of the kernel
    python benchmarks/gpu.py billion           an epoch over 1e9 entries
    python benchmarks/gpu.py tensors           default fits of the paper's tensors, ten splits each

Each line that is printed is a JSON object, that of steps with the device and the version of JAX.
"""

from __future__ import annotations

import argparse


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["throughput", "variants", "billion", "tensors"])
    parser.add_argument("--splits", type=int, default=10, help="of tensors")
    args = parser.parse_args()
    if args.what == "tensors":  # its processes import this module, and need no JAX
        import tensor_fits

        tensor_fits.tensors(args.splits)
    else:
        import gpu_steps

        getattr(gpu_steps, args.what)()


if __name__ == "__main__":
    main()
