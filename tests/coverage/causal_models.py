"""Models that read text from left to right."""

from __future__ import annotations

from tests.coverage.model_type import ModelType, Stream

__all__ = ["CAUSAL_MODELS"]

_ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_TEXT = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 64, **_ENDS,
}  # fmt: skip
_GROUPED = {**_TEXT, "num_key_value_heads": 2}
_OLD = {"vocab_size": 97, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, **_ENDS}
_EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
_LATENT = {
    **_TEXT, "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
    "topk_group": 1, "first_k_dense_replace": 1, "moe_intermediate_size": 16, "n_shared_experts": 1,
}  # fmt: skip
_INDEXED = {**_LATENT, "index_topk": 4, "index_head_dim": 16, "index_n_heads": 2}

CAUSAL_MODELS = (
    ModelType(type="gpt2", model="GPT2LMHeadModel", config="GPT2Config", settings=_OLD, essential=True),
    ModelType(type="gptj", model="GPTJForCausalLM", config="GPTJConfig", settings={**_OLD, "rotary_dim": 4}),
    ModelType(
        type="gpt_neo", model="GPTNeoForCausalLM", config="GPTNeoConfig", essential=True,
        settings={"vocab_size": 97, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 5,
                  "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64, **_ENDS}),
    ModelType(type="gpt_neox", model="GPTNeoXForCausalLM", config="GPTNeoXConfig", settings=_TEXT),
    ModelType(
        type="gpt_bigcode", model="GPTBigCodeForCausalLM", config="GPTBigCodeConfig", settings=_OLD),
    ModelType(type="codegen", model="CodeGenForCausalLM", config="CodeGenConfig",
              settings={**_OLD, "rotary_dim": 4, "n_ctx": 64}),
    ModelType(type="openai-gpt", model="OpenAIGPTLMHeadModel", config="OpenAIGPTConfig", settings=_OLD),
    ModelType(
        type="bloom", model="BloomForCausalLM", config="BloomConfig", inputs="padded", essential=True,
        settings={"vocab_size": 97, "hidden_size": 32, "n_layer": 2, "n_head": 4, **_ENDS}),
    ModelType(
        type="falcon", model="FalconForCausalLM", config="FalconConfig", inputs="padded",
        settings={"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                  "alibi": True, "multi_query": False, **_ENDS}),
    ModelType(
        type="mpt", model="MptForCausalLM", config="MptConfig",
        settings={"vocab_size": 97, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64,
                  "expansion_ratio": 2}),
    ModelType(
        type="xglm", model="XGLMForCausalLM", config="XGLMConfig",
        settings={"vocab_size": 97, "d_model": 32, "ffn_dim": 48, "num_layers": 2, "attention_heads": 4,
                  "max_position_embeddings": 64, **_ENDS}),
    ModelType(
        type="opt", model="OPTForCausalLM", config="OPTConfig", inputs="padded",
        settings={**_TEXT, "ffn_dim": 48, "word_embed_proj_dim": 32}),
    ModelType(
        type="ctrl", model="CTRLLMHeadModel", config="CTRLConfig",
        settings={"vocab_size": 97, "n_embd": 32, "dff": 48, "n_layer": 2, "n_head": 4, "n_positions": 64}),
    ModelType(type="llama", model="LlamaForCausalLM", config="LlamaConfig", settings=_GROUPED,
              inputs="padded", essential=True),
    ModelType(type="mistral", model="MistralForCausalLM", config="MistralConfig",
              settings={**_GROUPED, "sliding_window": 5}),
    ModelType(type="mixtral", model="MixtralForCausalLM", config="MixtralConfig",
              settings={**_GROUPED, **_EXPERTS}),
    ModelType(type="qwen2", model="Qwen2ForCausalLM", config="Qwen2Config", settings=_GROUPED),
    ModelType(type="qwen3", model="Qwen3ForCausalLM", config="Qwen3Config",
              settings={**_GROUPED, "head_dim": 8}),
    ModelType(type="qwen3_moe", model="Qwen3MoeForCausalLM", config="Qwen3MoeConfig",
              settings={**_GROUPED, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2,
                        "moe_intermediate_size": 16}),
    ModelType(
        type="qwen3_next", model="Qwen3NextForCausalLM", config="Qwen3NextConfig",
        streams={"self": Stream(1, "model.layers.1.*")}, why="only its layers of full attention have any",
        settings={**_GROUPED, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2,
                  "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16,
                  "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
                  "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8}),
    ModelType(type="gemma", model="GemmaForCausalLM", config="GemmaConfig",
              settings={**_GROUPED, "head_dim": 8}),
    ModelType(
        type="gemma2", model="Gemma2ForCausalLM", config="Gemma2Config", essential=True,
        settings={**_GROUPED, "head_dim": 8, "sliding_window": 5, "attn_logit_softcapping": 2.0},
        transparent="must support SDPA"),
    ModelType(
        type="gemma3_text", model="Gemma3ForCausalLM", config="Gemma3TextConfig",
        settings={**_GROUPED, "head_dim": 8, "sliding_window": 5,
                  "layer_types": ["sliding_attention", "full_attention"]}),
    ModelType(type="phi", model="PhiForCausalLM", config="PhiConfig", settings=_TEXT),
    ModelType(type="phi3", model="Phi3ForCausalLM", config="Phi3Config", settings=_GROUPED),
    ModelType(type="cohere", model="CohereForCausalLM", config="CohereConfig", settings=_GROUPED),
    ModelType(type="olmo", model="OlmoForCausalLM", config="OlmoConfig", settings=_GROUPED),
    ModelType(type="olmo2", model="Olmo2ForCausalLM", config="Olmo2Config", settings=_GROUPED),
    ModelType(type="stablelm", model="StableLmForCausalLM", config="StableLmConfig", settings=_GROUPED),
    ModelType(type="starcoder2", model="Starcoder2ForCausalLM", config="Starcoder2Config",
              settings=_GROUPED),
    ModelType(type="granite", model="GraniteForCausalLM", config="GraniteConfig",
              settings={**_GROUPED, "attention_multiplier": 0.3}),
    ModelType(type="smollm3", model="SmolLM3ForCausalLM", config="SmolLM3Config", settings=_GROUPED),
    ModelType(
        type="gpt_oss", model="GptOssForCausalLM", config="GptOssConfig", sinks=True, essential=True,
        settings={**_GROUPED, **_EXPERTS, "head_dim": 8, "sliding_window": 5,
                  "layer_types": ["sliding_attention", "full_attention"],
                  "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
        transparent="must support SDPA"),
    ModelType(type="deepseek_v3", model="DeepseekV3ForCausalLM", config="DeepseekV3Config",
              settings=_LATENT),
    ModelType(type="deepseek_v32", model="DeepseekV32ForCausalLM", config="DeepseekV32Config",
              settings=_INDEXED, essential=True),
    ModelType(type="glm_moe_dsa", model="GlmMoeDsaForCausalLM", config="GlmMoeDsaConfig",
              settings=_INDEXED),
    ModelType(type="glm4", model="Glm4ForCausalLM", config="Glm4Config",
              settings={**_GROUPED, "head_dim": 8}),
    ModelType(
        type="jamba", model="JambaForCausalLM", config="JambaConfig",
        streams={"self": Stream(1, "model.layers.1.*")}, why="only its layers of attention have any",
        settings={**_GROUPED, "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2,
                  "expert_layer_offset": 1, "num_experts": 4, "num_experts_per_tok": 2,
                  "use_mamba_kernels": False, "mamba_d_state": 4, "mamba_dt_rank": 4}),
    ModelType(
        type="minimax", model="MiniMaxForCausalLM", config="MiniMaxConfig", gives_attentions=False,
        streams={"self": Stream(1, "model.layers.1.*")}, why="only its layers of full attention have any",
        settings={**_GROUPED, "num_local_experts": 2, "num_experts_per_tok": 1, "block_size": 4,
                  "layer_types": ["linear_attention", "full_attention"]}),
    ModelType(
        type="zamba2", model="Zamba2ForCausalLM", config="Zamba2Config",
        streams={"self": Stream(1, "model.layers.1.*")}, why="only its layers of attention have any",
        settings={**_TEXT, "num_hidden_layers": 3, "layers_block_type": ["mamba", "hybrid", "mamba"],
                  "hybrid_layer_ids": [1], "num_mem_blocks": 1, "n_mamba_heads": 4, "mamba_d_state": 4,
                  "mamba_ngroups": 1, "adapter_rank": 4, "use_mem_rope": True, "mamba_headdim": 16,
                  "chunk_size": 4}),
    ModelType(
        type="mamba", model="MambaForCausalLM", config="MambaConfig", streams={}, essential=True,
        refused="MambaForCausalLM has none", why="its tokens are mixed by a state space",
        settings={"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4,
                  "time_step_rank": 4, **_ENDS}),
    ModelType(
        type="rwkv", model="RwkvForCausalLM", config="RwkvConfig", streams={},
        refused="layer rwkv.blocks.0.attention calls no softmax", why="its tokens are mixed by a recurrence",
        settings={"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "attention_hidden_size": 32,
                  **_ENDS}),
)  # fmt: skip
