def code_in(text):
    return []


def touches_statements(text):
    return []


def cleaned(text):
    return text
