"""The numbers that Whisper's audio front end is built on; every model shares them.

Lengths are in samples at `SAMPLE_RATE`, in mel frames (10 ms each) or in audio tokens (20 ms each: one
position of the encoder's output, and one step of a timestamp).
"""


def _exact_division(dividend: int, divisor: int) -> int:
    quotient, remainder = divmod(dividend, divisor)
    assert remainder == 0, f"{dividend} is no multiple of {divisor}"
    return quotient


SAMPLE_RATE = 16000  # samples per second
N_FFT = 400  # samples in one Fourier window: 25 ms
HOP_LENGTH = 160  # samples from one mel frame to the next: 10 ms
CHUNK_LENGTH = 30  # seconds in one window of the encoder

N_SAMPLES = CHUNK_LENGTH * SAMPLE_RATE  # 480000 samples in one window
N_FRAMES = _exact_division(N_SAMPLES, HOP_LENGTH)  # 3000 mel frames in one window
N_SAMPLES_PER_TOKEN = HOP_LENGTH * 2  # 320 samples: the second convolution halves the frames
FRAMES_PER_SECOND = _exact_division(SAMPLE_RATE, HOP_LENGTH)  # 100 mel frames per second
TOKENS_PER_SECOND = _exact_division(SAMPLE_RATE, N_SAMPLES_PER_TOKEN)  # 50 audio tokens per second
