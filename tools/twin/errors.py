"""What the twin says: malformed (exit 4), rejected (exit 1), declined (exit 3)."""


class Refusal(Exception):
    status, word = 1, "rejected"

    def __init__(self, code, message=""):
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code


class Malformed(Refusal):
    """Bytes or text that are not what the format says."""
    status = 4


class Rejected(Refusal):
    """A step whose claim does not follow."""


class Declined(Refusal):
    """Something that this checker does not decide."""
    status, word = 3, "declined"
