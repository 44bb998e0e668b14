"""Is the memory worth it? A Transformer-XL against a network of the same size trained without memory.

python training/compare_memory.py --data FOLDER --with FOLDER --without FOLDER --tokenizer FILE
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from segment_losses import paired_difference, segment_losses, summary
from text_data import find_part, read_text, token_ids
from tokenizers import Tokenizer

from haarbor.zoo import load_checkpoint


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--with", type=Path, required=True, dest="remembering")
    parser.add_argument("--without", type=Path, required=True, dest="forgetting")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    ids = token_ids(read_text(find_part(options.data, "test")), tokenizer)
    remembering, forgetting = (
        load_checkpoint(folder).to(options.device) for folder in (options.remembering, options.forgetting)
    )
    ours = segment_losses(remembering, ids, options.tokens, device=options.device)
    theirs = segment_losses(forgetting, ids, options.tokens, device=options.device)
    cut = segment_losses(remembering, ids, options.tokens, device=options.device, memory_length=0)
    results = {
        "trained with memory": summary(ours),
        "trained without memory": summary(theirs),
        "trained with memory, read without": summary(cut),
        "without minus with": paired_difference(ours, theirs),
    }
    text = json.dumps(results, indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
