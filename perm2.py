import torch,time
torch.set_num_threads(2)
def best(f,n=7):
    f(); b=9e9
    for _ in range(n):
        t=time.perf_counter(); f(); b=min(b,time.perf_counter()-t)
    return b*1e3
def two(x):
    N,C,H,W=x.shape
    out=torch.empty(N,H,W,C)
    for n in range(N): out[n].view(H*W,C).copy_(x[n].view(C,H*W).t())
    return out
for s in [(2,256,256,256),(2,256,64,64),(2,256,32,32),(1,392,14,14)]:
    x=torch.randn(s); y=x.contiguous(memory_format=torch.channels_last)
    gb=x.numel()*8/1e6
    c=best(lambda:x.clone()); a=best(lambda:x.permute(0,2,3,1).contiguous()); b=best(lambda:two(x))
    o=torch.empty_like(y)
    d=best(lambda:o.copy_(x)); e=best(lambda:x.contiguous(memory_format=torch.channels_last))
    print(s,'clone %.2f ms (%.1f GB/s) to_nhwc %.2f (%.1fx) two %.2f (%.1fx) copy_ into existing %.2f  contiguous(cl) %.2f'%(c,gb/c,a,a/c,b,b/c,d,e))
