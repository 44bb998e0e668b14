"""Parts of timm vision transformers switched off, run as a program of its own by test_timm_collapse.py.

python timm_collapse.py TIMM_FOLDER
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from haarbor.collapse import VARIANTS, initialised, network_blocks, rank_collapse, switched_off
from haarbor.pruning import model_batches
from tests.capturing.timm_capture import imported_timm


def main():
    timm = imported_timm(sys.argv[1])
    torch.manual_seed(0)
    options = {"img_size": 32, "patch_size": 8, "depth": 3, "init_values": 0.3, "num_classes": 5}
    model = timm.create_model("vit_tiny_patch16_224", pretrained=False, **options).eval().double()
    image = torch.randn(2, 3, 32, 32, dtype=torch.float64)
    batch = model_batches(image)[0]
    blocks = network_blocks(model, batch)
    differences = {}
    for variant, off in VARIANTS.items():
        kept = {}
        with switched_off(model, blocks, variant, on_state=kept.__setitem__), torch.no_grad():
            model(image)
        x = kept[0]
        with torch.no_grad():
            for block in model.blocks:
                a = block.ls1(block.attn(x if "norms" in off else block.norm1(x)))
                x = a if "skips" in off else x + a
                if "mlps" not in off:
                    m = block.ls2(block.mlp(x if "norms" in off else block.norm2(x)))
                    x = m if "skips" in off else x + m
        differences[variant] = float((kept[3] - x).abs().max() / x.abs().max())
    found = rank_collapse(initialised(model), image, like=model, variants=["as it is"])
    answer = {"differences": differences, "layers": found.n_layers, "kind": blocks.blocks[0].kind}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
