"""Tokenizers and models small enough to build in a test."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

WORDS = ("the", "cat", "sat", "on", "mat", "dog", "ran", "far")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def word_tokenizer(*, framed=False, **names):
    """Ids 0 to 3 are special, 4 to 11 the words in order; `framed` puts [CLS] and [SEP] around a text."""
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if framed:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", model_max_length=4, **names
    )


def byte_tokenizer():
    """Every byte a token, as GPT-2 writes bytes."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)


_SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
_VISION = {**_SIZES, "image_size": 8, "patch_size": 4}
_ENCODER_DECODER = {
    "vocab_size": 40,
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
}


def small_model(kind):
    """A model of one layer, two heads and forty tokens, in eval mode."""
    torch.manual_seed(0)
    config = {
        "GPT2LMHeadModel": lambda: transformers.GPT2Config(
            vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=2
        ),
        "BertModel": lambda: transformers.BertConfig(**_SIZES, vocab_size=40, max_position_embeddings=16),
        "RobertaModel": lambda: transformers.RobertaConfig(
            **_SIZES, vocab_size=40, max_position_embeddings=18
        ),
        "T5Model": lambda: transformers.T5Config(
            vocab_size=40, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2
        ),
        "BartModel": lambda: transformers.BartConfig(**_ENCODER_DECODER, max_position_embeddings=16),
        "WhisperModel": lambda: transformers.WhisperConfig(
            **_ENCODER_DECODER,
            num_mel_bins=4,
            max_source_positions=6,
            max_target_positions=8,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=3,
        ),
        "ViTModel": lambda: transformers.ViTConfig(**_VISION),
        "DeiTModel": lambda: transformers.DeiTConfig(**_VISION),
        "SiglipVisionModel": lambda: transformers.SiglipVisionConfig(**_VISION),
        "Dinov2WithRegistersModel": lambda: transformers.Dinov2WithRegistersConfig(
            **_VISION, num_register_tokens=2
        ),
        "Wav2Vec2Model": lambda: transformers.Wav2Vec2Config(
            **_SIZES, conv_dim=(16,), conv_kernel=(3,), conv_stride=(2,), num_conv_pos_embedding_groups=2
        ),
    }[kind]()
    return getattr(transformers, kind)(config).eval()
