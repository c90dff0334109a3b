"""An agent for repositories (LeanAgent): traces them, trains on one after the other, and fills their gaps.

Kumarappan et al., "LeanAgent: Lifelong Learning for Formal Theorem Proving" (arXiv 2410.06209)."""
