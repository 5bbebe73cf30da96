import torch,time
torch.set_num_threads(2)
def best(f,n=7):
    f(); b=9e9
    for _ in range(n):
        t=time.perf_counter(); f(); b=min(b,time.perf_counter()-t)
    return b*1e3
for s in [(2,256,256,256),(2,256,64,64),(1024,256,7,7),(2,256,32,32),(1,392,14,14)]:
    x=torch.randn(s); y=x.contiguous(memory_format=torch.channels_last)
    gb=x.numel()*8/1e6
    c=best(lambda:x.clone()); a=best(lambda:x.permute(0,2,3,1).contiguous()); b=best(lambda:y.contiguous())
    print(s,'clone %.2f ms (%.1f GB/s) to_nhwc %.2f (%.1fx) to_nchw %.2f (%.1fx)'%(c,gb/c,a,a/c,b,b/c))
