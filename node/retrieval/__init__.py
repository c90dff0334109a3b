"""Premise retrieval: corpora, dense and lexical retrievers, training and evaluation."""
