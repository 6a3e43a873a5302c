CHECKS = []


def prepare():
    pass
