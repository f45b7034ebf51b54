# A Trainer that evaluates with metrics after each epoch, and predicts.
import tempfile

import numpy
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

rows = [{"input_ids": torch.arange(24) + i, "labels": i % 3} for i in range(20)]
model = BertForSequenceClassification(BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                                                 intermediate_size=64, num_labels=3))
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(
        model=model, train_dataset=rows, eval_dataset=rows,
        args=TrainingArguments(folder, num_train_epochs=2, per_device_train_batch_size=5, eval_strategy="epoch", save_strategy="no",
                               report_to=[], disable_tqdm=True),
        compute_metrics=lambda pair: {"right": float((numpy.argmax(pair.predictions, -1) == pair.label_ids).mean())})
    trainer.train()
    assert trainer.predict(rows).predictions.shape == (20, 3)
