from node.lean.files.report import LocalItem


def code_in(text: str) -> list[LocalItem]:
    return []


def touches_statements(text: str) -> list[LocalItem]:
    return []


def cleaned(text: str) -> str:
    return text
