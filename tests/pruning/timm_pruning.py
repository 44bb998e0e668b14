"""Pruning of timm vision transformers, run as a program of its own by test_timm_pruning.py.

python timm_pruning.py TIMM_FOLDER OUT_FOLDER
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from haarbor.errors import PruningError
from haarbor.pruning import (
    compensate,
    compensated,
    load_pruned,
    model_batches,
    n_parameters,
    network_heads,
    prune_heads,
    save_pruned,
)
from tests.capturing.timm_capture import VARIANTS, imported_timm

HEADS = [(0, 1), (1, 0), (1, 2)]


def main():
    timm = imported_timm(sys.argv[1])
    found = {}
    for variant, (name, options) in VARIANTS.items():
        torch.manual_seed(0)
        model = timm.create_model(name, pretrained=False, num_classes=5, **options).eval()
        # As they are made, heads hardly change the output: layers are scaled down to begin with.
        with torch.no_grad():
            for key, weight in model.named_parameters():
                if weight.dim() > 1:
                    weight.mul_(3.0)
                elif "gamma" in key:
                    weight.fill_(1.0)
        images = model_batches(torch.randn(4, 3, options["img_size"], options["img_size"]))
        heads = network_heads(model, images[0])
        fits = compensate(model, heads, HEADS, images)
        entry = {"projection": heads.layers[1].projection, "block": heads.layers[1].block}
        with torch.no_grad():
            whole = model(images[0].inputs[""])
            with compensated(model, heads, fits):
                masked = model(images[0].inputs[""])
        entry["masked_change"] = float((masked - whole).abs().max() / whole.abs().max())
        try:
            smaller = prune_heads(model, heads, HEADS, batch=images[0], compensation=fits)
            save_pruned(f"{sys.argv[2]}/{variant}", smaller, heads, HEADS, timm_options=options)
            with torch.no_grad():
                loaded = load_pruned(f"{sys.argv[2]}/{variant}")(images[0].inputs[""])
            entry["difference"] = float((loaded - masked).abs().max() / masked.abs().max())
            entry["fewer_parameters"] = n_parameters(model) - n_parameters(smaller)
        except PruningError as error:
            entry["refusal"] = str(error)
        found[variant] = entry
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
