"""Small untrained networks of every kind that pruning knows, with inputs."""

import torch
from torch import nn

from haarbor.pruning import model_batches
from haarbor.zoo import TransformerXL, TransformerXLConfig, VisionTransformer, VisionTransformerConfig
from tests.capturing.small_models import SMALL_MODELS

MADE_SMALLER = (
    "gpt2",
    "llama",
    "mistral",
    "qwen3",
    "bert",
    "roberta",
    "vit",
    "zoo-txl",
    "zoo-vit",
    "multihead",
)
MASKED_ONLY = ("gpt_neox", "phi", "opt", "albert", "distilbert", "clip", "t5", "bart")


class Encoder(nn.Module):
    """nn.TransformerEncoder with an embedding and scores."""

    def __init__(self, batch_first):
        super().__init__()
        self.embedding = nn.Embedding(97, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 48, dropout=0.0, batch_first=batch_first)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.scores = nn.Linear(32, 97)
        self.batch_first = batch_first

    def forward(self, input_ids):
        x = self.embedding(input_ids)
        x = self.encoder(x if self.batch_first else x.transpose(0, 1))
        return self.scores(x if self.batch_first else x.transpose(0, 1))


class Vectors(nn.Module):
    """A text model that answers with vectors."""

    def __init__(self):
        super().__init__()
        self.inner = SMALL_MODELS["llama"].build("eager").model

    def forward(self, input_ids):
        return self.inner(input_ids=input_ids)


def network(name):
    """Model in eval mode with weights large enough that every head matters."""
    torch.manual_seed(5)
    if name == "zoo-txl":
        config = TransformerXLConfig(
            vocab_size=97, width=32, n_layers=3, n_heads=4, head_width=6, inner_width=48, memory_length=8
        )
        model = TransformerXL(config)
    elif name == "zoo-vit":
        config = VisionTransformerConfig(
            image_size=16, patch_size=4, width=32, n_layers=3, n_heads=4, inner_width=48, n_classes=5
        )
        model = VisionTransformer(config)
    elif name == "vectors":
        model = Vectors()
    elif name.startswith("multihead"):
        model = Encoder(batch_first=name == "multihead")
    else:
        model = SMALL_MODELS[name].build("eager")
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(4.0)
    return model.eval()


def batches(name, n=1, *, seed=3, size=2):
    """Batches for the network of a name."""
    generator = torch.Generator().manual_seed(seed)
    kind = SMALL_MODELS[name].inputs if name in SMALL_MODELS else "image" if name == "zoo-vit" else "tokens"
    made = []
    for _ in range(n):
        ids = torch.randint(3, 97, (size, 14), generator=generator)
        if kind == "image":
            inputs = {"pixel_values": torch.randn(size, 3, 16, 16, generator=generator)}
            inputs["labels"] = torch.randint(0, 2, (size,), generator=generator)
        elif kind == "padded":
            inputs = {"input_ids": ids, "attention_mask": torch.tensor([[1] * 11 + [0] * 3] * size)}
        elif kind == "pair":
            inputs = {"input_ids": ids, "decoder_input_ids": ids[:, :9]}
        else:
            inputs = {"input_ids": ids}
        made.append(inputs)
    return model_batches(made)
