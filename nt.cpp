#include <immintrin.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <sys/mman.h>
using C=std::chrono::steady_clock;
int main(){
 for(int huge=0;huge<2;++huge)
 for(size_t mb: {2,4,6,8,10,12,14,20,40,200}){
  size_t n=mb<<20; char*p=(char*)aligned_alloc(1<<21,n+(1<<21)); if(huge) madvise(p,n,MADV_HUGEPAGE); else madvise(p,n,MADV_NOHUGEPAGE);
  double best[2]={1e9,1e9};
  for(int rep=0;rep<15;++rep) for(int k=0;k<2;++k){
   for(int w=0;w<2;++w){
   auto t=C::now(); __m256i v=_mm256_set1_epi64x(rep);
   if(k==0) for(size_t i=0;i<n;i+=32) _mm256_store_si256((__m256i*)(p+i),v);
   else {for(size_t i=0;i<n;i+=32) _mm256_stream_si256((__m256i*)(p+i),v); _mm_sfence();}
   asm volatile(""::"r"(p):"memory");
   best[k]=std::min(best[k],std::chrono::duration<double>(C::now()-t).count());}
  }
  printf("huge %d %zu MB: store %.1f GB/s stream %.1f GB/s\n",huge,mb,n/best[0]/1e9,n/best[1]/1e9); free(p);
 }}
