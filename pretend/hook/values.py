"""Questions about values that decide what a script does, of which a pretend card does not know the answer.

Two ways from Python to a shape are told, if the host does not know the values (host.py, which sees the others): a tensor
that is taken for an integer, and one that becomes a list. And libraries ask of every batch what zeros would answer wrongly.
"""


def install(torch, tell, when_imported, host):
    """Calls tell(what) before each; gives back what undoes it."""
    undone = []

    def on_card(value):
        return isinstance(value, torch.Tensor) and value.is_cuda

    def unknown(value):
        return on_card(value) and not host.knows(value)

    def watch(name, what):
        whole = getattr(torch.Tensor, name)

        def watched(tensor, *arguments, **named):
            if unknown(tensor):
                tell(what)
            return whole(tensor, *arguments, **named)
        watched.__name__, watched.__doc__, watched.__wrapped__ = name, whole.__doc__, whole
        setattr(torch.Tensor, name, watched)
        undone.append((torch.Tensor, name, whole))
    watch("tolist", "tolist()")
    watch("__index__", "a tensor as integer")

    # Every question that the function asks of a tensor on the card is answered by yes.
    def affirmed(whole, asks=lambda *arguments: True):
        def answered(*arguments, **named):
            if not asks(*arguments):
                return whole(*arguments, **named)
            truth = torch.Tensor.__bool__
            torch.Tensor.__bool__ = lambda value: True if unknown(value) else truth(value)
            try:
                return whole(*arguments, **named)
            finally:
                torch.Tensor.__bool__ = truth
        answered.__wrapped__ = whole
        return answered

    # torch.distributions asks whether all parameters and samples are valid, and would hear no (since torch 2.10 by a
    # function of its own: host.py).
    distribution = torch.distributions.Distribution
    for name in ("__init__", "_validate_sample"):
        whole = getattr(distribution, name)
        setattr(distribution, name, affirmed(whole))
        undone.append((distribution, name, whole))

    # transformers asks by the values of position_ids whether a batch is packed sequences, which have a mask of their own
    # (masking_utils.find_packed_sequence_indices, 4.53 to 5.0). Zeros would say so of every batch. Where a script gives
    # position_ids itself it packs.
    def one_sequence(module):
        if not hasattr(module, "find_packed_sequence_indices"):
            return
        find = module.find_packed_sequence_indices

        def find_packed_sequence_indices(position_ids, *arguments, **named):
            if unknown(position_ids) or on_card(position_ids) and not host.is_small(position_ids):
                # Those that the model counts itself are a row of arange that got a batch axis: one sequence each.
                if position_ids._is_view():
                    return None
                tell("position_ids without a mask, taken for packed sequences,")
            return find(position_ids, *arguments, **named)
        module.find_packed_sequence_indices = find_packed_sequence_indices

    # And whether a mask of the tokens, or of an image's pixels, masks any; zeros are padding.
    def padded(module):
        for name in ("_ignore_causal_mask_sdpa", "_ignore_bidirectional_mask_sdpa"):
            if hasattr(module, name):
                setattr(module, name, told_if_kept(getattr(module, name)))

    def told_if_kept(ignore):
        def ignore_told(padding_mask, *arguments, **named):
            ignored = ignore(padding_mask, *arguments, **named)
            if unknown(padding_mask) and not ignored:
                tell("attention_mask, taken for one with padding,")
            return ignored
        return ignore_told
    when_imported("transformers.masking_utils", lambda module: (one_sequence(module), padded(module)))

    # DETR's loss refuses boxes whose corners are not in order; what (corner >= corner).all() reads is zero, so it would
    # refuse all. A card's boxes are in order.
    # (generalized_box_iou of facebookresearch/detr's util/box_ops.py, which its descendants copied, and of transformers.)
    def in_order(module):
        whole = getattr(module, "generalized_box_iou", None)
        if whole is not None:
            module.generalized_box_iou = affirmed(whole, lambda *boxes: any(map(on_card, boxes)))
    for name in ("transformers.loss.loss_for_object_detection", "util.box_ops"):
        when_imported(name, in_order)

    def undo():
        for owner, name, whole in undone:
            setattr(owner, name, whole)
        undone.clear()
    return undo
