import numpy as np
import pytest

torch = pytest.importorskip("torch")

from haarbor.errors import ShapeError  # noqa: E402
from haarbor.zoo import VisionTransformer, VisionTransformerConfig  # noqa: E402

SIZES = {
    "image_size": 6, "patch_size": 2, "width": 8, "n_layers": 2, "n_heads": 2, "inner_width": 12,
    "n_classes": 3,
}  # fmt: skip


def network(**changes):
    torch.manual_seed(0)
    model = VisionTransformer(VisionTransformerConfig(**{**SIZES, **changes})).eval()
    for name, weight in model.named_parameters():
        if "norm" not in name:
            torch.nn.init.normal_(weight, std=0.4)
    return model


def norm(x):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5)


def gelu(x):
    return np.array([0.5 * value * (1 + float(torch.erf(torch.tensor(value / 2**0.5)))) for value in x])


def slow_scores(model, image):
    """The network on one image, a patch, head and query at a time, in double precision."""
    w = {name: value.detach().double().numpy() for name, value in model.named_parameters()}
    tokens = [w["cls_token"][0, 0]]
    for row in range(3):
        for column in range(3):
            patch = image[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            tokens.append((w["patches.weight"] * patch).sum(axis=(1, 2, 3)) + w["patches.bias"])
    x = np.array(tokens) + w["positions"][0]
    for layer in range(2):
        at = f"layers.{layer}."
        y = np.array([norm(token) for token in x])
        packed = y @ w[at + "attention.query_key_value.weight"].T + w[at + "attention.query_key_value.bias"]
        mixed = np.zeros_like(x)
        for head in range(2):
            q, k, v = (packed[:, 8 * part + 4 * head : 8 * part + 4 * head + 4] for part in range(3))
            for query in range(10):
                scores = np.array([q[query] @ key for key in k]) / 2.0
                shares = np.exp(scores - scores.max())
                mixed[query, 4 * head : 4 * head + 4] = shares / shares.sum() @ v
        x = x + mixed @ w[at + "attention.output.weight"].T + w[at + "attention.output.bias"]
        for token in range(10):
            inner = w[at + "feed_forward.0.weight"] @ norm(x[token]) + w[at + "feed_forward.0.bias"]
            x[token] = (
                x[token] + w[at + "feed_forward.2.weight"] @ gelu(inner) + w[at + "feed_forward.2.bias"]
            )
    return w["classifier.weight"] @ norm(x[0]) + w["classifier.bias"]


def test_scores_equal_a_slow_loop():
    model = network()
    images = torch.randn(2, 3, 6, 6)
    with torch.no_grad():
        found = model(images).numpy()
    expected = [slow_scores(model, image.double().numpy()) for image in images]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_paper_size_has_197_tokens_and_the_parameters_of_vit_b():
    config = VisionTransformerConfig(
        image_size=224, patch_size=16, width=768, n_layers=12, n_heads=12, inner_width=3072, n_classes=1000
    )
    assert config.n_tokens == 197
    with torch.device("meta"):
        model = VisionTransformer(config)
    # ViT-B/16 with 1,000 classes, as published.
    assert sum(weight.numel() for weight in model.parameters()) == 86_567_656


def test_drop_path_leaves_out_later_layers_in_training_only():
    model = network(drop_path=0.9)
    images = torch.randn(2, 3, 6, 6)
    with torch.no_grad():
        assert torch.equal(model(images), model(images))
        assert model.layers[0].drop_path == 0.0
        assert model.layers[1].drop_path == 0.9
        model.train()
        assert len({tuple(model(images).flatten().tolist()) for _ in range(20)}) > 1


def test_drop_path_keeps_the_mean():
    layer = network(drop_path=0.5).layers[1].train()
    torch.manual_seed(0)
    change = torch.ones(4000, 1, 1)
    assert abs(float(layer._sometimes(change).mean()) - 1.0) < 0.05


@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (2, 1, 6, 6), (3, 6, 6)])
def test_images_of_another_size_are_refused(shape):
    with pytest.raises(ShapeError, match=r"pixel_values must have shape \(batch, 3, 6, 6\)"):
        network()(torch.zeros(shape))


@pytest.mark.parametrize("changes", [{"patch_size": 4}, {"n_heads": 3}])
def test_sizes_that_do_not_divide_are_refused(changes):
    with pytest.raises(ShapeError, match="must divide"):
        VisionTransformerConfig(**{**SIZES, **changes})
