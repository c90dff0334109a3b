"""Language models in Hugging Face's format that run in this process, by transformers. Needs the extra `models`.

A thread owns the model (`engine`). It runs rows, one for each sample, in groups (`group`) by transformers' own
`generate`, a few tokens at a time; between two runs rows that are done leave, and rows that wait join.
"""
