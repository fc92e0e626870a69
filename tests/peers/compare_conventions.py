# SPDX-License-Identifier: GPL-3.0-or-later
"""compare_conventions.py CLI [PACKAGES]: quantized checkpoints of bitsandbytes, compressed-tensors, MLX and transformers. The values that
`quantscope-cli dequantize` decodes must equal those of each program bit for bit. With PACKAGES (auto-gptq, autoawq, hqq and
nvidia-modelopt, unpacked) also the files of GPTQ and AWQ and the layers of HQQ and ModelOpt.

First runs the scripts of tests/data/conventions, which must reproduce the committed values.json. Then tests more shapes and settings.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types
from pathlib import Path

os.environ["TORCHDYNAMO_DISABLE"] = "1"
import torch

DATA = Path(__file__).resolve().parents[1] / "data/conventions"
cli = sys.argv[1]
passed = failed = 0


def check(name, same):
    global passed, failed
    passed, failed = passed + bool(same), failed + (not same)
    if not same:
        print(f"FAIL {name}")


def decoded(folder, out):
    from safetensors.torch import load_file

    done = subprocess.run([cli, "dequantize", str(folder), "-o", str(out)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"quantscope-cli dequantize {folder}: {done.stderr}")
    return load_file(out)


def same(a, b):
    """True if the bits are equal; all NaN count as equal."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    wide = {2: torch.int16, 4: torch.int32}[a.element_size()]
    return bool(((a.reshape(-1).view(wide) == b.reshape(-1).view(wide)) | (a.isnan() & b.isnan()).reshape(-1)).all())


PACKAGED = {"make_hqq.py": "hqq_linear", "make_modelopt.py": "modelopt_nvfp4"}
if len(sys.argv) > 2:
    os.environ["QS_HQQ"] = str(next(Path(sys.argv[2]).glob("hqq-*")))
    os.environ.setdefault("QS_MODELOPT", sys.argv[2])

with tempfile.TemporaryDirectory() as temporary:
    temporary = Path(temporary)
    for script in sorted(DATA.glob("make_*.py")):
        if script.name in PACKAGED and len(sys.argv) <= 2:
            continue
        subprocess.run([sys.executable, "-W", "ignore", script, temporary], check=True, capture_output=True)
    for committed in sorted(DATA.glob("*/values.json")):
        folder = committed.parent.name
        if folder in PACKAGED.values() and len(sys.argv) <= 2:
            continue
        check(f"{folder}: values as committed", committed.read_text() == (temporary / folder / "values.json").read_text())

    packages = sys.argv[2] if len(sys.argv) > 2 else None
    sys.argv = [sys.argv[0], str(temporary / "more")]
    sys.path.insert(0, str(DATA))
    import bitsandbytes as bnb
    import common
    import mlx.core as mx
    import numpy as np
    from compressed_tensors.compressors.base import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    random = torch.Generator().manual_seed(31)

    def normal(*shape):
        return torch.randn(*shape, generator=random) * 0.05

    def compare(folder, tensors, values, quantization=None, extra=None):
        common.checkpoint(folder, tensors, values, quantization, extra)
        ours = decoded(temporary / "more" / folder, temporary / f"{folder}.safetensors")
        for name, plain in values.items():
            check(f"{folder}: {name}", name in ours and same(plain, ours[name]))

    # Rows hold whole blocks or have odd length: the CPU kernel of bitsandbytes uses wrong scales where blocks cross even rows.
    tensors, values = {}, {}
    for kind in ("nf4", "fp4"):
        for block in (32, 64, 128, 256, 512, 1024):
            for nested in (False, True):
                for dtype in (torch.float32, torch.float16, torch.bfloat16):
                    for shape in ((3, block), (130, 2 * block), (9, 2 * block + 1), (1, 1), (257, 33)):
                        name = f"{kind}.{block}.{nested}.{str(dtype)[6:]}.{'x'.join(map(str, shape))}.weight"
                        plain = normal(*shape)
                        if shape[0] == 130:
                            plain[3:5] = 0
                        codes, state = bnb.functional.quantize_4bit(plain.to(dtype), blocksize=block, quant_type=kind,
                                                                    compress_statistics=nested)
                        tensors[name] = codes
                        tensors |= {f"{name}.{key}": value for key, value in state.as_dict(packed=True).items()}
                        values[name] = bnb.functional.dequantize_4bit(codes, state).reshape(shape)
    compare("bnb", tensors, values)

    tensors, values = {}, {}
    for shape in ((1, 1), (5, 77), (300, 256), (64, 4096)):
        name = f"int8.{shape[0]}x{shape[1]}.weight"
        codes, scb, _ = bnb.functional.int8_vectorwise_quant(normal(*shape).half())
        tensors |= {name: codes, name.removesuffix("weight") + "SCB": scb}
        values[name] = bnb.functional.int8_vectorwise_dequant(codes, scb)
    compare("int8", tensors, values)

    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for symmetric in (True, False):
            tensors, values, groups = {}, {}, {}
            for bits in range(1, 9):
                for group in (32, 64, 128, 0):
                    for rows, blocks in ((7, 1), (65, 3)):
                        columns = (group or 96) * blocks + (0 if group else 5)
                        module = f"b{bits}.g{group}.r{rows}"
                        arguments = QuantizationArgs(num_bits=bits, type="int", symmetric=symmetric,
                                                     strategy="group" if group else "channel", **({"group_size": group} if group else {}))
                        scheme = QuantizationScheme(targets=["Linear"], weights=arguments, format="pack-quantized")
                        scale = torch.rand(rows, blocks if group else 1, generator=random).to(dtype) * 0.1 + 0.001
                        state = {"weight": normal(rows, columns).to(dtype), "weight_scale": scale.to(dtype)}
                        if not symmetric:
                            state["weight_zero_point"] = torch.randint(-(2 ** (bits - 1)), 2 ** (bits - 1), scale.shape,
                                                                       generator=random, dtype=torch.int8)
                        compressor = BaseCompressor.get_value_from_registry("pack-quantized")
                        stored = compressor.compress(state, scheme)
                        values[f"{module}.weight"] = compressor.decompress(dict(stored), scheme)["weight"]
                        tensors |= {f"{module}.{key}": value for key, value in stored.items()}
                        groups[f"g{len(groups)}"] = {"targets": [module], "weights": arguments.model_dump(mode="json", exclude_none=True)}
            compare(f"ct_{str(dtype)[6:]}_{symmetric}", tensors, values,
                    {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": groups})

    mx.set_default_device(mx.cpu)
    spec = importlib.util.spec_from_file_location("make_mlx", DATA / "make_mlx.py")
    make_mlx = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_mlx)
    tensors, values, config = {}, {}, {"group_size": 64, "bits": 4}
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            for dtype in (mx.float32, mx.float16, mx.bfloat16):
                module = f"b{bits}.g{group}.{str(dtype)[9:]}".replace(".core.", "")
                stored = mx.quantize(mx.array(normal(33, 384).numpy()).astype(dtype), group_size=group, bits=bits)
                tensors |= {f"{module}.{key}": make_mlx.to_torch(a) for key, a in zip(("weight", "scales", "biases"), stored)}
                values[f"{module}.weight"] = make_mlx.to_torch(mx.dequantize(*stored, group_size=group, bits=bits))
                config[module] = {"group_size": group, "bits": bits}
    compare("mlx", tensors, values, config)

    tensors, values = {}, {}
    for rows, columns in ((128, 128), (256, 384), (1280, 512)):
        name = f"w{rows}x{columns}.weight"
        codes = normal(rows, columns).mul(300).to(torch.float8_e4m3fn)
        scale = torch.rand(rows // 128, columns // 128, generator=random) * 0.01
        tensors |= {name: codes, f"{name}_scale_inv": scale}
        values[name] = Fp8Dequantize(None)._dequantize_one(codes, scale, torch.bfloat16)
    compare("fp8", tensors, values, {"quant_method": "fp8", "weight_block_size": [128, 128]})

    tensors, values = {}, {}
    for shape in ((1, 1, 1), (4, 96, 6), (2, 64, 90)):
        name = f"e{'x'.join(map(str, shape))}.gate_up_proj"
        blocks = torch.randint(0, 256, (*shape, 16), generator=random, dtype=torch.uint8)
        scales = torch.randint(60, 200, shape, generator=random, dtype=torch.uint8)
        tensors |= {f"{name}_blocks": blocks, f"{name}_scales": scales}
        values[name] = convert_moe_packed_tensors(blocks, scales)
    compare("gptoss", tensors, values)

    if packages:
        import make_hqq
        import make_modelopt

        tensors, values = {}, {}
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            for bits in (8, 6, 5, 4, 3, 2, 1):
                for axis in (0, 1):
                    for group, rows, columns in ((64, 64, 96), (8, 40, 48), (None, 80, 24), (120, 30, 40)):
                        for more in ({}, {"view_as_float": True}):
                            name = f"hqq.{str(dtype)[6:]}.{bits}.{axis}.{group}.{len(more)}"
                            plain = normal(rows, columns)
                            plain[0] = 0.01
                            try:
                                stored, decoded_by_hqq = make_hqq.layer(plain, dtype, nbits=bits, axis=axis, group_size=group, **more)
                            except (RuntimeError, ZeroDivisionError):  # hqq cannot pack this, or takes it for floats
                                continue
                            tensors |= {f"{name}.{key}": value for key, value in stored.items()}
                            values[f"{name}.weight"] = decoded_by_hqq
        print(f"hqq: {len(values)} layers")
        compare("hqq", tensors, values)

        tensors, values = {}, {}
        for rows, columns in ((1, 16), (33, 48), (256, 512)):
            for scale in (1e-6, 1, 1e4):
                name = f"nvfp4.{rows}x{columns}.{scale}"
                plain = (normal(rows, columns) * scale).to(torch.bfloat16)
                plain[0, :16] = 0
                plain[-1, 0] = scale
                stored, decoded_by_modelopt = make_modelopt.layer(plain)
                tensors |= {f"{name}.{key}": value for key, value in stored.items()}
                values[f"{name}.weight"] = decoded_by_modelopt
        compare("modelopt", tensors, values, {"quant_method": "modelopt", "quant_algo": "NVFP4"})

        # The values that the programs decode from the committed files.
        def source(pattern):
            path = next(Path(packages).rglob(pattern))
            spec = importlib.util.spec_from_file_location(path.stem, path)
            made = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(made)
            return made

        from safetensors.torch import load_file

        awq = source("awq/utils/packing_utils.py")
        ours = decoded(DATA / "awq_gemm", temporary / "awq.safetensors")
        stored = load_file(DATA / "awq_gemm/model.safetensors")
        for name in (n for n in ours if n.endswith("q_proj.weight")):
            codes, zeros, scales = (stored[name.removesuffix("weight") + end] for end in ("qweight", "qzeros", "scales"))
            check(f"autoawq: {name}", same(awq.dequantize_gemm(codes, zeros, scales, 4, 32).T.contiguous(), ours[name]))

        for name in ("transformers", "accelerate", "auto_gptq", "auto_gptq.nn_modules", "auto_gptq.nn_modules.triton_utils"):
            sys.modules.setdefault(name, types.ModuleType(name))
        sys.modules["transformers"] = types.SimpleNamespace(
            pytorch_utils=types.SimpleNamespace(Conv1D=type("Conv1D", (), {})), Conv1D=type("Conv1D", (), {}))
        sys.modules["transformers.pytorch_utils"] = sys.modules["transformers"].pytorch_utils
        linear = source("auto_gptq/nn_modules/qlinear/qlinear_cuda.py")
        ours = decoded(DATA / "gptq_v1", temporary / "gptq.safetensors")
        stored = load_file(DATA / "gptq_v1/model.safetensors")
        for name, bits in zip(sorted(n for n in ours if n.endswith("q_proj.weight")), (2, 3, 4, 8)):
            layer = linear.QuantLinear(bits, 32, 64, 32, False, kernel_switch_threshold=0)
            for end in ("qweight", "qzeros", "scales", "g_idx"):
                setattr(layer, end, stored[name.removesuffix("weight") + end])
            layer.autogptq_cuda_available = False
            plain = layer(torch.eye(64, dtype=torch.float16)).T.contiguous()
            check(f"auto-gptq: {name}", bool((plain == ours[name]).all()))

print(f"conventions: {passed} passed, {failed} failed")
sys.exit(failed > 0)
