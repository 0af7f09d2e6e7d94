# uses: gradients, a small network trained, saved and loaded again, data loaded by two processes
# expect: [4.0, 8.0] 2.00 1.00 True 10
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.tensor([2.0, 4.0], requires_grad=True)
(x**2).sum().backward()

# It learns that y = 2x + 1.
inputs = torch.linspace(-1, 1, 64).unsqueeze(1)
targets = 2 * inputs + 1
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
for _ in range(200):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()
    optimizer.step()

torch.save(model.state_dict(), "model.pt")
again = nn.Linear(1, 1)
again.load_state_dict(torch.load("model.pt"))
same = torch.equal(model(inputs), again(inputs))

numbers = TensorDataset(torch.arange(5))
total = sum(int(batch.sum()) for (batch,) in DataLoader(numbers, batch_size=2, num_workers=2))

print(x.grad.tolist(), f"{again.weight.item():.2f} {again.bias.item():.2f}", same, total)
