"""Moves across the devices of a mesh.

held       the elements that each device holds, by digits
modes      modes that two layouts share: counts, and pieces of elements that go together
exchange   one exchange: how much each device takes, and who sends what to whom
plan       one exchange or two, the one of the least time
local      one device's part: what it packs, sends, takes and unpacks
bound      that part, ready for arrays
simulated  all devices in one process
ranks      the ranks of torch.distributed
"""
