"""What the twin says: malformed (exit 4), rejected (exit 1), declined (exit 3)."""


class Refusal(Exception):
    status, word = 1, "rejected"

    def __init__(self, code, message=""):
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code


class Malformed(Refusal):
    status = 4


class Rejected(Refusal):
    pass


class Declined(Refusal):
    status, word = 3, "declined"
