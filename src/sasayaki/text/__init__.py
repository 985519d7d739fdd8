"""From token ids to text and back: special tokens, vocabularies, the tokenizer, words."""
