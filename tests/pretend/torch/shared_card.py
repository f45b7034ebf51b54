"""Two processes on one card."""
import torch
import torch.multiprocessing as multiprocessing


def hold(barrier):
    held = torch.empty(300 << 20, dtype=torch.uint8, device="cuda")
    barrier.wait()
    del held


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    processes = [context.Process(target=hold, args=(barrier,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
