"""Capture of timm vision transformers, run as a program of its own by test_timm.py.

timm imports torchvision, whose compiled operators need the CUDA build of torch; their
registration is left out here, which nothing in timm's transformers uses.

    python timm_capture.py TIMM_FOLDER OUT_FOLDER
"""

import json
import sys
import types

import numpy as np
import torch

from haarbor.capturing import capture

VARIANTS = {
    "vit": ("vit_tiny_patch16_224", {"img_size": 32, "patch_size": 8, "depth": 3}),
    "deit_distilled": ("deit_tiny_distilled_patch16_224", {"img_size": 32, "patch_size": 8, "depth": 3}),
    "query_key_norm": ("vit_tiny_patch16_224", {"img_size": 32, "patch_size": 8, "depth": 2,
                                                "qk_norm": True}),
    "rotary": ("eva02_tiny_patch14_224", {"img_size": 28, "patch_size": 7, "depth": 2}),
    "relative_bias": ("beit_base_patch16_224", {"img_size": 32, "patch_size": 8, "depth": 2, "embed_dim": 48,
                                                "num_heads": 4}),
}  # fmt: skip


def unfused(model):
    for module in model.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = False
    return model


def imported_timm(folder):
    sys.path.append(folder)
    sys.modules["torchvision._meta_registrations"] = types.ModuleType("torchvision._meta_registrations")
    import timm

    return timm


def main():
    timm = imported_timm(sys.argv[1])
    found = {}
    for variant, (name, options) in VARIANTS.items():
        torch.manual_seed(0)
        model = timm.create_model(name, pretrained=False, num_classes=5, **options).eval()
        image = torch.randn(1, 3, options["img_size"], options["img_size"])
        seen = []
        with torch.no_grad():
            plain = model(image)
        run = capture(model, [image], f"{sys.argv[2]}/{variant}")
        with torch.no_grad():
            after = model(image)
            # timm's unfused path takes a softmax over (1, heads, tokens, tokens): an independent witness.
            softmax = torch.Tensor.softmax

            def witness(self, *args, seen=seen, softmax=softmax, **kwargs):
                weights = softmax(self, *args, **kwargs)
                seen.append(weights[0].numpy())
                return weights

            torch.Tensor.softmax = witness
            unfused(model)(image)
            torch.Tensor.softmax = softmax
        expected = np.concatenate(seen).transpose(1, 2, 0)
        recorded = np.asarray(run.tensor(0))
        found[variant] = {
            "shape": list(recorded.shape),
            "layers": len(run.layers),
            "error": float(np.abs(recorded - expected).max()),
            "output_unchanged": bool(torch.equal(plain, after)),
            "hooks_left": sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()),
        }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
